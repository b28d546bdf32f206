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

TEST_CASE("reshape refuses sizes with another number of elements and names both shapes") {
  const Tensor x = counting({2, 3});
  const auto message = [&](const Shape& shape) { return error_of([&] { reshape(x, shape); }); };
  CHECK(mentions(message({4, 2}), {"[reshape]", "[2, 3]", "[4, 2]"}));
  CHECK(mentions(message({4, -1}), {"[reshape]", "[2, 3]", "[4, -1]"}));
  CHECK(mentions(message({-1, -1}), {"[reshape]", "only one", "[-1, -1]"}));
  CHECK(mentions(message({-2, 3}), {"[reshape]", "negative", "[-2, 3]"}));
  CHECK(mentions(message({kHuge, kHuge, -1}), {"[reshape]", "too many"}));
  CHECK(mentions(message({0, -1}), {"[reshape]", "[0, -1]"}));
  check_error([] { reshape(Tensor(), {1}); }, {"[reshape]", "undefined"});
}

TEST_CASE("transpose and permute refuse axes that do not exist") {
  const Tensor x = counting({2, 3});
  check_error([&] { transpose(x, 0, 2); }, {"[transpose]", "axis 2", "2 axes"});
  check_error([] { transpose(counting({3})); }, {"[transpose]", "axis -2"});
  check_error([&] { permute(x, {0}); }, {"[permute]", "expected 2", "got 1"});
  check_error([&] { permute(x, {0, 0}); }, {"[permute]", "axis 0", "twice"});
  check_error([&] { permute(x, {0, -2}); }, {"[permute]", "axis -2", "twice"});
  check_error([&] { permute(x, {0, 5}); }, {"[permute]", "axis 5"});
  check_error([] { permute(Tensor(), {}); }, {"[permute]", "undefined"});
  check_error([] { transpose(Tensor()); }, {"[transpose]", "undefined"});
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

TEST_CASE("slice refuses axes that do not exist and steps that are not positive") {
  const Tensor x = counting({5});
  check_error([&] { slice(x, 1, 0, 1); }, {"[slice]", "axis 1", "1 axes"});
  check_error([&] { slice(x, 0, 0, 1, 0); }, {"[slice]", "positive step", "got 0"});
  check_error([&] { slice(x, 0, 0, 1, -1); }, {"[slice]", "got -1"});
  check_error([] { slice(Tensor(), 0, 0, 1); }, {"[slice]", "undefined"});
}

TEST_CASE("expand refuses to shrink axes and to stretch axes of other sizes than 1") {
  const Tensor x = counting({2, 3});
  check_error([&] { expand(x, {4, 3}); }, {"[expand]", "[2, 3]", "[4, 3]"});
  check_error([&] { expand(x, {3}); }, {"[expand]", "[2, 3]", "[3]"});
  check_error([&] { expand(x, {2, 1}); }, {"[expand]", "[2, 3]", "[2, 1]"});
  CHECK_FALSE(error_of([] { expand(counting({1}), {-1}); }) == "no error");
  check_error([] { expand(Tensor(), {1}); }, {"[expand]", "undefined"});
}

TEST_CASE("concat refuses parts of mismatched shapes") {
  const Tensor a = Tensor::zeros({2, 3});
  const auto message = [&](const Tensor& b, Index axis) {
    return error_of([&] { concat({a, b}, axis); });
  };
  check_error([] { concat({}, 0); }, {"[concat]", "at least one"});
  CHECK(mentions(message(Tensor::zeros({2, 4}), 0), {"[concat]", "[2, 3]", "[2, 4]"}));
  CHECK(mentions(message(Tensor::zeros({3}), 0), {"[concat]", "[2, 3]", "[3]"}));
  CHECK(mentions(message(a, 2), {"[concat]", "axis 2"}));
  CHECK(mentions(message(Tensor::zeros({2, 3}, DType::float64), 0), {"[concat]", "float64"}));
  CHECK_FALSE(message(Tensor(), 0) == "no error");
  CHECK_FALSE(error_of([] { concat({Tensor(), Tensor()}, 0); }) == "no error");
}

TEST_CASE("stack and split name what they refuse") {
  const Tensor a = doubles({1, 2}, {2});
  const Tensor x = counting({2, 5});
  check_error([] { stack({}); }, {"[stack]", "at least one"});
  check_error([&] { stack({a, doubles({1}, {1})}); }, {"[stack]", "[2]", "[1]"});
  check_error([&] { stack({a}, 2); }, {"[stack]", "axis 2"});
  check_error([&] { split(x, 0, 1); }, {"[split]", "positive size", "got 0"});
  check_error([&] { split(x, 1, 3); }, {"[split]", "axis 3"});
  check_error([] { split(Tensor(), 1, 0); }, {"[split]", "undefined"});
  check_error([] { contiguous(Tensor()); }, {"[contiguous]", "undefined"});
  CHECK(split(x, kHuge, 0)[0].shape() == Shape{2, 5});
  CHECK(split(Tensor::zeros({0}), 2, 0).empty());
}

TEST_CASE("select and unsqueeze and squeeze name axes and indices out of range") {
  const Tensor x = counting({2, 3});
  check_error([&] { select(x, 1, 3); }, {"[select]", "index 3", "axis 1", "[2, 3]"});
  check_error([&] { select(x, 1, -4); }, {"[select]", "index -4"});
  check_error([&] { select(x, 2, 0); }, {"[select]", "axis 2"});
  check_error([] { select(Tensor::zeros({0}), 0, 0); }, {"[select]", "[0]"});
  check_error([&] { unsqueeze(x, 3); }, {"[unsqueeze]", "axis 3"});
  check_error([&] { squeeze(x, -3); }, {"[squeeze]", "axis -3"});
  check_error([] { select(Tensor(), 0, 0); }, {"undefined"});
  check_error([] { squeeze(Tensor(), 0); }, {"undefined"});
  check_error([] { unsqueeze(Tensor(), 0); }, {"undefined"});
}
}  // namespace layout_test
