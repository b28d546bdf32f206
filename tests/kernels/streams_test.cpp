#include "kernels/machine/streams.h"
#include "support/test.h"

// Several whole chunks and a partial one.
constexpr Index kCount = (Index{1} << 19) + 6;

TEST_CASE("a read pass multiplies every element once") {
  const Tensor ones = Tensor::ones({kCount});
  CHECK(kernels::read_pass(ones.data<float>(), kCount) == 0.5 * kCount);
  CHECK(kernels::read_pass(ones.data<float>(), 0) == 0);
}

TEST_CASE("copy and update passes reach every element") {
  const Tensor x = Tensor::full({kCount}, 2);
  Tensor y = Tensor::zeros({kCount});
  kernels::copy_pass(x.data<float>(), y.data<float>(), kCount);
  Index wrong = 0;
  for (Index i = 0; i < kCount; ++i) {
    wrong += y.data<float>()[i] == 2.0F ? 0 : 1;
  }
  CHECK(wrong == 0);
  kernels::update_pass(x.data<float>(), y.data<float>(), kCount);
  for (Index i = 0; i < kCount; ++i) {
    wrong += y.data<float>()[i] == 8.0F ? 0 : 1;
  }
  CHECK(wrong == 0);
}
