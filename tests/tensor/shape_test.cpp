#include "support/test.h"

constexpr Index kHuge = std::numeric_limits<Index>::max();

std::string text(const Shape& shape) {
  std::ostringstream out;
  out << shape;
  return out.str();
}

TEST_CASE("a shape keeps its sizes in order and prints like a list") {
  const Shape shape{4, 0, 7};
  CHECK(shape.rank() == 3);
  CHECK(shape[0] == 4);
  CHECK(shape.back() == 7);
  CHECK(text(shape) == "[4, 0, 7]");
  CHECK(text({}) == "[]");
  CHECK(text({5}) == "[5]");
}

TEST_CASE("shapes are equal when rank and sizes are") {
  CHECK(Shape{2, 3} == Shape{2, 3});
  CHECK_FALSE(Shape{2, 3} == Shape{3, 2});
  CHECK_FALSE(Shape{2, 3} == Shape{2, 3, 1});
  CHECK_FALSE(Shape{} == Shape{0});
  CHECK(Shape{} == Shape{});
  CHECK(Shape::filled(3, 9) == Shape{9, 9, 9});
}

TEST_CASE("axes can be inserted and erased anywhere in a shape") {
  Shape shape{2, 3};
  shape.insert(0, 9);
  shape.insert(2, 8);
  shape.insert(4, 7);
  CHECK(shape == Shape{9, 2, 8, 3, 7});
  shape.erase(4);
  shape.erase(0);
  shape.erase(1);
  CHECK(shape == Shape{2, 3});
}

TEST_CASE("a shape holds eight axes and refuses a ninth") {
  Shape shape{1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(shape.rank() == kMaxRank);
  check_error([&] { shape.push_back(9); }, {"[Shape]", "8"});
  CHECK(shape == Shape{1, 2, 3, 4, 5, 6, 7, 8});
  check_error([] { return Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }, {"[Shape]", "8"});
}

TEST_CASE("numel multiplies the sizes, is 1 for a scalar and 0 for any empty axis") {
  CHECK(numel({2, 3, 4}) == 24);
  CHECK(numel({}) == 1);
  CHECK(numel({7, 0, 3}) == 0);
}

TEST_CASE("numel refuses negative sizes and products that overflow") {
  check_error([] { numel({2, -1}); }, {"[Shape]", "negative", "[2, -1]"});
  check_error([] { numel({kHuge, 2}); }, {"too many elements"});
  CHECK(numel({kHuge, 1}) == kHuge);
  CHECK(numel({0, kHuge, kHuge}) == 0);
}

TEST_CASE("contiguous strides count elements from the last axis") {
  CHECK(contiguous_strides({2, 3, 4}) == Shape{12, 4, 1});
  CHECK(contiguous_strides({5}) == Shape{1});
  CHECK(contiguous_strides({}) == Shape{});
  CHECK(contiguous_strides({0, kHuge, kHuge})[2] == 1);  // no overflow
}

TEST_CASE("broadcasting lines axes up from the back and stretches those of size 1") {
  CHECK(broadcast_shapes({3, 1}, {1, 4}, "f") == Shape{3, 4});
  CHECK(broadcast_shapes({2, 1, 3}, {4, 1}, "f") == Shape{2, 4, 3});
  CHECK(broadcast_shapes({}, {2, 3}, "f") == Shape{2, 3});
  CHECK(broadcast_shapes({0, 3}, {1, 3}, "f") == Shape{0, 3});
  CHECK(broadcast_shapes({5}, {5}, "f") == Shape{5});
}

TEST_CASE("shapes that do not broadcast are named in the error") {
  check_error([] { broadcast_shapes({2, 3}, {4}, "add"); }, {"[add]", "[2, 3]", "[4]"});
  check_error([] { broadcast_shapes({0}, {2}, "add"); }, {"[add]", "[0]", "[2]"});
}

TEST_CASE("an axis may count from the end and must exist") {
  CHECK(normalize_axis(0, 3, "f") == 0);
  CHECK(normalize_axis(-1, 3, "f") == 2);
  CHECK(normalize_axis(-3, 3, "f") == 0);
  check_error([] { normalize_axis(3, 3, "sum"); }, {"[sum]", "axis 3", "3 axes"});
  check_error([] { normalize_axis(-4, 3, "sum"); }, {"[sum]", "axis -4"});
  check_error([] { normalize_axis(0, 0, "sum"); }, {"[sum]", "0 axes"});
}
