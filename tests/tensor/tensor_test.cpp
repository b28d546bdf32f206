#include "support/test.h"

namespace tensor_test {
constexpr Index kHuge = std::numeric_limits<Index>::max();

TEST_CASE("a view that leaves the storage is refused") {
  const Tensor x = Tensor::arange(64, DType::float32);  // fills its block
  CHECK(x.strided_view({4, 4}, {16, 1}, 12).numel() == 16);
  CHECK(x.strided_view({64}, {-1}, 63).numel() == 64);
  CHECK(x.strided_view({0}, {1}, 4000).numel() == 0);
  constexpr Index kFar = Index{1} << 62;
  const auto check = [&](const Shape& shape, const Shape& strides, Index offset) {
    CHECK(contains(error_of([&] { static_cast<void>(x.strided_view(shape, strides, offset)); }),
                   "leaves the storage"));
  };
  check({4, 4}, {1 << 20, 1}, 0);
  check({2}, {1}, 1 << 20);
  check({2}, {-1}, 0);
  check({1}, {1}, -1);
  check({9}, {kFar}, 0);
  check({1}, {1}, kFar);
  CHECK(contains(error_of([] { static_cast<void>(Tensor().strided_view({1}, {1})); }),
                 "the tensor is undefined"));
}

TEST_CASE("factories fill a tensor of the wanted shape and type") {
  CHECK(Tensor::empty({2, 3}).shape() == Shape{2, 3});
  CHECK(Tensor::empty({2, 3}).dtype() == DType::float32);
  check_values(Tensor::zeros({3}), {0, 0, 0});
  check_values(Tensor::ones({2, 1}, DType::float64), {1, 1});
  check_values(Tensor::full({2}, -2.5), {-2.5, -2.5});
  check_values(Tensor::ones({2}, DType::boolean), {1, 1});
  check_values(Tensor::full({2}, 7, DType::int32), {7, 7});
  check_values(Tensor::full({2}, 1.0 + 0x1p-9, DType::bfloat16), {1, 1});
  check_values(Tensor::arange(4), {0, 1, 2, 3});
  CHECK(Tensor::arange(4).dtype() == DType::int32);
  check_values(Tensor::arange(3, DType::float64), {0, 1, 2});
  CHECK(Tensor::arange(0).numel() == 0);
}

TEST_CASE("a scalar has no axes and one element") {
  const Tensor scalar = Tensor::scalar(1.5, DType::float64);
  CHECK(scalar.rank() == 0);
  CHECK(scalar.numel() == 1);
  CHECK(scalar.item() == 1.5);
  CHECK(scalar.is_contiguous());
}

TEST_CASE("from copies values in row-major order and checks their number") {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const Tensor x = Tensor::from(values, {2, 3});
  CHECK(x.strides() == Shape{3, 1});
  CHECK(x.data<float>()[4] == 5);
  CHECK(Tensor::from<double>({}, {0, 3}).numel() == 0);
  check_error([&] { Tensor::from(values, {2, 2}); }, {"6 values", "[2, 2]"});
  check_error([&] { Tensor::from(values, {-2, -3}); }, {"negative", "[-2, -3]"});
}

TEST_CASE("shapes with absurd sizes are refused before memory is asked for") {
  check_error([] { Tensor::empty({-1}); }, {"negative", "[-1]"});
  check_error([] { Tensor::empty({kHuge, 2}); }, {"too many elements"});
  check_error([] { Tensor::empty({Index{1} << 61}); }, {"too many elements"});
  check_error([] { Tensor::empty({kHuge, kHuge, kHuge}); }, {"too many elements"});
  check_error([] { Tensor::arange(-1); }, {"negative"});
  CHECK(Tensor::empty({0, kHuge, kHuge}).numel() == 0);
}

TEST_CASE("an undefined tensor has no elements and refuses to be read") {
  const Tensor nothing;
  CHECK_FALSE(nothing.defined());
  CHECK(nothing.numel() == 0);
  CHECK_FALSE(nothing.requires_grad());
  check_error([&] { nothing.data<float>(); }, {"[data]", "undefined"});
  check_error([&] { nothing.item(); }, {"[item]"});
}

TEST_CASE("elements can be read only as their own type") {
  const Tensor x = Tensor::zeros({2});
  CHECK(x.data<float>() != nullptr);
  check_error([&] { x.data<double>(); }, {"[data]", "float32", "float64"});
  check_error([&] { x.data<bool>(); }, {"[data]", "float32", "bool"});
}

TEST_CASE("size counts axes from the end as well") {
  const Tensor x = Tensor::zeros({2, 3, 4});
  CHECK(x.size(0) == 2);
  CHECK(x.size(-1) == 4);
  check_error([&] { x.size(3); }, {"[size]", "axis 3", "3 axes"});
}

TEST_CASE("item gives the value of a tensor with exactly one element") {
  CHECK(floats({2.5F}, {1, 1}).item() == 2.5);
  CHECK(bools({true}, {1}).item() == 1);
  check_error([] { Tensor::zeros({2, 1}).item(); }, {"[item]", "[2, 1]"});
  check_error([] { Tensor::zeros({0}).item(); }, {"[item]", "[0]"});
}

TEST_CASE("copying a handle shares the elements, cloning does not") {
  Tensor x = doubles({1, 2}, {2});
  CHECK(x.owns_storage_alone());
  const Tensor handle = x;
  const Tensor copy = x.clone();
  CHECK_FALSE(x.owns_storage_alone());
  CHECK(copy.owns_storage_alone());
  x.fill(9);
  check_values(handle, {9, 9});
  check_values(copy, {1, 2});
}

TEST_CASE("a strided view addresses the same elements in another order") {
  Tensor x = doubles({0, 1, 2, 3, 4, 5}, {2, 3});
  const Tensor transposed = x.strided_view({3, 2}, {1, 3});
  check_values(transposed, {0, 3, 1, 4, 2, 5});
  CHECK_FALSE(transposed.is_contiguous());
  Tensor column = x.strided_view({2}, {3}, 1);
  check_values(column, {1, 4});
  const Tensor nested = column.strided_view({1}, {1}, 3);
  check_values(nested, {4});
  column.fill(-1);
  check_values(x, {0, -1, 2, 3, -1, 5});
  check_values(x.strided_view({2, 3}, {0, 1}, 3), {3, -1, 5, 3, -1, 5});
}

TEST_CASE("is_contiguous means row-major order without gaps, whatever axes of size 1 say") {
  const Tensor x = Tensor::zeros({2, 3});
  CHECK(x.is_contiguous());
  CHECK(x.strided_view({2, 1, 3}, {3, 99, 1}).is_contiguous());
  CHECK_FALSE(x.strided_view({2, 2}, {3, 1}).is_contiguous());
  CHECK_FALSE(x.strided_view({2, 3}, {0, 1}).is_contiguous());
  CHECK_FALSE(x.strided_view({3}, {2}).is_contiguous());
  CHECK(x.strided_view({1, 3}, {0, 1}).is_contiguous());
  CHECK(x.strided_view({0, 3}, {7, 7}).is_contiguous());
}

TEST_CASE("clone and to_contiguous put views in order, to_contiguous only when it must") {
  const Tensor x = doubles({0, 1, 2, 3, 4, 5}, {2, 3});
  const Tensor view = x.strided_view({3, 2}, {1, 3});
  CHECK(view.clone().is_contiguous());
  check_values(view.clone(), {0, 3, 1, 4, 2, 5});
  CHECK(to_contiguous(view).strides() == Shape{2, 1});
  CHECK(to_contiguous(x).data<double>() == x.data<double>());
}

TEST_CASE("convert changes the type element by element") {
  check_values(convert(doubles({1.7, -1.7, 0}, {3}), DType::int32), {1, -1, 0});
  check_values(convert(doubles({0.5, 0, kNaN}, {3}), DType::boolean), {1, 0, 1});
  check_values(convert(bools({true, false}, {2}), DType::float32), {1, 0});
  check_values(convert(ints({3, -4}, {2}), DType::float64), {3, -4});
  check_values(convert(floats({1.00390625F, 1.01171875F}, {2}), DType::bfloat16), {1, 1.015625});
  const Tensor back = convert(convert(floats({3.140625F}, {1}), DType::bfloat16), DType::float32);
  check_values(back, {3.140625});
  CHECK(back.dtype() == DType::float32);
  check_values(convert(doubles({kNaN}, {1}), DType::bfloat16), {kNaN});
}

TEST_CASE("convert to the same type gives the same handle") {
  const Tensor x = Tensor::zeros({2});
  CHECK(convert(x, DType::float32).data<float>() == x.data<float>());
  CHECK(convert(x, DType::float64).shape() == Shape{2});
}

TEST_CASE("copy_from overwrites the elements of a view and converts them") {
  Tensor x = Tensor::zeros({2, 3}, DType::float64);
  Tensor middle = x.strided_view({2}, {3}, 1);
  middle.copy_from(ints({4, 5}, {2}));
  check_values(x, {0, 4, 0, 0, 5, 0});
  check_error([&] { middle.copy_from(Tensor::zeros({3})); }, {"[copy_from]", "[2]", "[3]"});
  CHECK_THROWS_AS(x.strided_view({}, {}).copy_from(Tensor()), Error);
}

TEST_CASE("the version counts how often elements were overwritten, through whatever handle") {
  Tensor x = Tensor::full({2, 3}, 4, DType::float64);
  CHECK(x.version() == 0);
  CHECK(Tensor().version() == 0);
  x.fill(1);
  CHECK(x.version() == 1);
  Tensor row = x.strided_view({3}, {1});
  row.copy_from(Tensor::zeros({3}));
  CHECK(x.version() == 2);
  row.detach().mutable_data<double>()[1] = 5;
  CHECK(x.version() == 3);
  CHECK(row.version() == 3);
  check_values(x, {0, 5, 0, 1, 1, 1});
  // Reads and failed writes do not raise the version.
  x.data<double>();
  x.to_vector();
  CHECK_THROWS_AS(x.copy_from(Tensor::zeros({7})), Error);
  CHECK_THROWS_AS(x.mutable_data<float>(), Error);
  CHECK(x.version() == 3);
  CHECK(x.clone().version() == 0);
}

TEST_CASE("an undefined tensor cannot be overwritten") {
  Tensor none;
  CHECK(error_of([&] { none.fill(1); }) == "[fill] the tensor is undefined");
  CHECK(error_of([&] { none.copy_from(Tensor()); }) == "[copy_from] a tensor is undefined");
  CHECK_THROWS_AS(none.mutable_data<float>(), Error);
}

TEST_CASE("to_vector gives all elements of a view in row-major order") {
  const Tensor x = ints({1, 2, 3, 4}, {2, 2}).strided_view({2, 2}, {1, 2});
  CHECK(x.to_vector() == std::vector<double>{1, 3, 2, 4});
  CHECK(Tensor::zeros({0}).to_vector().empty());
}

TEST_CASE("eye is the identity matrix") {
  check_values(Tensor::eye(2), {1, 0, 0, 1});
  CHECK(Tensor::eye(3, DType::boolean).dtype() == DType::boolean);
  CHECK(Tensor::eye(0).shape() == Shape{0, 0});
  CHECK_THROWS_AS(Tensor::eye(-1), Error);
}
}  // namespace tensor_test
