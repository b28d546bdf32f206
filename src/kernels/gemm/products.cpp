#include "kernels/gemm/products.h"

#include <atomic>

#include "kernels/gemm/gemm_tile.h"

namespace headlight::kernels {
namespace {

std::atomic<Products>& chosen_products() {
  static std::atomic<Products> chosen{Products::automatic};
  return chosen;
}

}  // namespace

Products products() { return chosen_products().load(std::memory_order_relaxed); }

void set_products(Products products) {
  chosen_products().store(products, std::memory_order_relaxed);
}

bool products_are_own() {
  return products() == Products::own ||
         (products() == Products::automatic && gemm_tiles<float>().fast);
}

}  // namespace headlight::kernels
