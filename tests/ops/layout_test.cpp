#include "support/test.h"

namespace layout_test {
constexpr Index kHuge = std::numeric_limits<Index>::max();

// Returns a tensor of 0, 1, 2, ...
Tensor counting(const Shape& shape) {
  return Tensor::from(Tensor::arange(numel(shape), DType::float64).to_vector(), shape);
}

bool shares_elements(const Tensor& a, const Tensor& b) {
  return a.data<double>() == b.data<double>();
}

TEST_CASE("rearrangements are views that share the elements of their input") {
  const Tensor x = counting({2, 3, 1});
  for (const Tensor& view :
       {reshape(x, {3, -1}), reshape(x, {-1}), transpose(x), transpose(x, 0, -1),
        permute(x, {2, 0, -2}), slice(x, 0, 0, 1), expand(x, {2, 3, 4}), select(x, 0, 0),
        unsqueeze(x, 1), squeeze(x), split(x, 2, 1)[0], contiguous(x)}) {
    CHECK(shares_elements(x, view));
  }
  CHECK(reshape(counting({1, 1}), {}).rank() == 0);
  CHECK(reshape(Tensor::scalar(1), {1, 1}).shape() == Shape{1, 1});
  CHECK(squeeze(counting({1, 1})).rank() == 0);
  for (const Tensor& copy : {reshape(transpose(x, 0, 1), {6}), contiguous(transpose(x, 0, 1))}) {
    CHECK_FALSE(shares_elements(x, copy));
    CHECK(copy.is_contiguous());
    check_values(copy, {0, 3, 1, 4, 2, 5});
  }
  Tensor written = counting({2, 3});
  slice(written, 1, 1, 2).fill(-1);
  check_values(written, {0, -1, 2, 3, -1, 5});
}

TEST_CASE("views have the strides of their input, or of what they skip and repeat") {
  const Tensor x = counting({2, 6});
  CHECK(slice(x, 1, 1, 6, 2).strides() == Shape{6, 2});
  CHECK(slice(x, 1, 1, 6, 2).data<double>() == x.data<double>() + 1);
  CHECK(expand(counting({3, 1}), {2, 3, 4}).strides() == Shape{0, 1, 0});
  CHECK(split(x, 2, 1)[1].data<double>() == x.data<double>() + 2);
}

TEST_CASE("bounds of a slice count from the end and are clamped, as in Python") {
  const Tensor x = counting({5});
  check_values(slice(x, 0, -2, 5), {3, 4});
  check_values(slice(x, 0, 0, -3), {0, 1});
  check_values(slice(x, -1, -100, 100), {0, 1, 2, 3, 4});
  CHECK(slice(x, 0, 3, 2).shape() == Shape{0});
  CHECK(slice(x, 0, 7, 9).shape() == Shape{0});
  CHECK(slice(x, 0, -9, -7).shape() == Shape{0});
  check_values(slice(x, 0, 1, 5, 100), {1});
  check_values(slice(x, 0, 1, kHuge, kHuge), {1});
  check_values(slice(x, 0, -kHuge, 2), {0, 1});
  CHECK(slice(Tensor::zeros({0}), 0, 0, 1, 3).shape() == Shape{0});
}
}  // namespace layout_test
