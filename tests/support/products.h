#pragma once

#include "kernels/gemm/products.h"
#include "support/test.h"

namespace headlight::test {

// Sets the engine of matrix products during its lifetime.
using ProductsScope = SettingScope<&kernels::products, &kernels::set_products>;

// Calls body() with the register tiles, then with OpenBLAS.
template <class Body>
void with_each_engine(const Body& body) {
  for (const kernels::Products products : {kernels::Products::own, kernels::Products::blas}) {
    const ProductsScope scope(products);
    INFO("products: " << std::string(products_name()));
    body();
  }
}

}  // namespace headlight::test
