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

ProductEngine gemm_engine() {
  const bool own = products() == Products::own ||
                   (products() == Products::automatic && gemm_tiles<float>().fast);
  return own ? ProductEngine::tiles : ProductEngine::openblas;
}

// "auto" never picks OpenBLAS: attention multiplies small tiles and reads some operands in place.
ProductEngine attention_engine() {
  return products() == Products::blas ? ProductEngine::openblas : ProductEngine::tiles;
}

}  // namespace headlight::kernels
