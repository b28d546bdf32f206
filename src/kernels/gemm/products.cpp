#include "kernels/gemm/products.h"

#include <atomic>

#include "headlight/base/error.h"
#include "headlight/kernels/machine.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_tile.h"
#include "kernels/gemm/openblas.h"

namespace headlight {
namespace kernels {
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

std::string products_warning() {
  if (gemm_engine() == ProductEngine::openblas) {
    return blas_warning();
  }
  return gemm_tiles<float>().fast ? ""
                                  : "products by Headlight's own tiles are slow without AVX2, "
                                    "AVX-512 or NEON; OpenBLAS is likely faster";
}

}  // namespace kernels

std::string_view products_name() { return name_of(kernels::products()); }

void set_products(std::string_view name) {
  kernels::set_products(parse_name<kernels::Products>("products", name));
}

void require_precision(Precision precision) {
  require_value(precision == Precision::float32 || !kernels::bfloat16_instructions().empty(),
                "dtype", "bfloat16 needs a CPU with AVX512-BF16 or AMX, and --cpu_variant v4; ",
                "use float32 here");
  require_value(precision == Precision::float32 || products_name() != "blas", "dtype",
                "bfloat16 products are computed by Headlight's own tiles, not by BLAS; ",
                "use float32 with --products blas");
}

std::string products_description() {
  const bool own_attention = kernels::attention_engine() == kernels::ProductEngine::tiles;
  return kernels::gemm_engine() == kernels::ProductEngine::tiles
             ? "Headlight"
             : kernels::blas_description() + (own_attention ? ", attention's by Headlight" : "");
}

}  // namespace headlight
