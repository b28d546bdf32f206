#pragma once

#include <string>

#include "headlight/kernels/machine/machine.h"
#include "kernels/gemm/products.h"
#include "support/catch.h"

namespace headlight::test {

// Sets the engine of matrix products during its lifetime.
class ProductsScope {
 public:
  explicit ProductsScope(kernels::Products products) : previous_(kernels::products()) {
    kernels::set_products(products);
  }
  ~ProductsScope() { kernels::set_products(previous_); }
  ProductsScope(const ProductsScope&) = delete;
  ProductsScope& operator=(const ProductsScope&) = delete;

 private:
  kernels::Products previous_;
};

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
