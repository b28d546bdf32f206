#include "kernels/gemm/products.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_tile.h"
#include "kernels/gemm/openblas.h"
#include "support/cpu_variants.h"
#include "support/products.h"
#include "support/test.h"

// Runs a block's products, forward and backward: norm_linear, attention, feed_forward. Returns the
// output and the gradients.
std::vector<Tensor> run_block(DType dtype) {
  constexpr Index kWidth = 96;
  const std::vector<Tensor> leaves{
      leaf(noise({230, kWidth}, 1, dtype)), leaf(noise({3 * kWidth, kWidth}, 2, dtype)),
      leaf(noise({3 * kWidth}, 3, dtype)), leaf(noise({4 * kWidth, kWidth}, 4, dtype)),
      leaf(noise({kWidth, 4 * kWidth}, 5, dtype))};
  const Tensor qkv = norm_linear(leaves[0], {}, leaves[1], leaves[2]);
  const Tensor mixed = ragged_attention(qkv, {.heads = 3, .offsets = {0, 1, 70, 230}});
  FeedForwardParameters parameters;
  parameters.up_weight = leaves[3];
  parameters.down_weight = leaves[4];
  const Tensor output = feed_forward(mixed, parameters);
  backward(output, {.gradient = noise(output.shape(), 6, dtype)});
  std::vector<Tensor> result{output.detach()};
  for (const Tensor& x : leaves) {
    result.push_back(x.grad());
  }
  return result;
}

TEST_CASE("the library of matrix products is chosen by name and described") {
  const ProductsScope restored(kernels::Products::automatic);
  CHECK(products_name() == "auto");
  for (const char* name : {"own", "blas", "auto"}) {
    set_products(name);
    CHECK(products_name() == name);
  }
  const std::string message = error_of([] { set_products("mkl"); });
  CHECK(message == "products: expected own, blas or auto, got 'mkl'");
  CHECK(products_name() == "auto");
  set_products("own");
  CHECK(products_description() == "Headlight");
  CHECK(machine_description().ends_with(", products by Headlight"));
  set_products("blas");
  CHECK(products_description() == kernels::blas_description());
  CHECK(machine_description().ends_with(", products by " + kernels::blas_description()));
}

TEST_CASE("auto chooses Headlight's products where they are fast and OpenBLAS elsewhere") {
  with_each_variant([] {
    const bool fast = kernels::gemm_tiles<float>().fast;
    {
      const ProductsScope scope(kernels::Products::automatic);
      CHECK(kernels::products_are_own() == fast);
      CHECK(products_description().ends_with(fast ? "Headlight" : " build"));
    }
    {
      const ProductsScope scope(kernels::Products::own);
      CHECK(kernels::products_are_own());
      CHECK(machine_warning().empty() == fast);
    }
    const ProductsScope scope(kernels::Products::blas);
    CHECK(!kernels::products_are_own());
  });
}

TEST_CASE("Headlight's products and OpenBLAS agree within rounding forward and backward") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const double tolerance = dtype == DType::float32 ? 5e-5 : 1e-13;
    const ProductsScope own(kernels::Products::own);
    const std::vector<Tensor> expected = run_block(dtype);
    const ProductsScope blas(kernels::Products::blas);
    const std::vector<Tensor> actual = run_block(dtype);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      INFO("result " << i << ", " << dtype);
      CHECK(relative_difference(actual[i], expected[i]) < tolerance);
    }
  }
}

TEST_CASE("bfloat16 products are refused where BLAS is asked for") {
  if (kernels::bfloat16_instructions().empty()) {
    return;  // this machine rejects bfloat16 anyway
  }
  CHECK_NOTHROW(require_precision(Precision::bfloat16));
  const ProductsScope blas(kernels::Products::blas);
  CHECK_NOTHROW(require_precision(Precision::float32));
  CHECK(error_of([] { require_precision(Precision::bfloat16); }) ==
        "dtype: bfloat16 products are computed by Headlight's own tiles, not by BLAS; "
        "use float32 with --products blas");
}
