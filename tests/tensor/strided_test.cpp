#include "support/test.h"

// Offsets of all elements in row-major order, one vector per operand, by counting axes up.
template <std::size_t N>
std::vector<std::array<Index, N>> naive_offsets(const Shape& shape,
                                                const std::array<Shape, N>& strides) {
  std::vector<std::array<Index, N>> all;
  for (Index element = 0; element < numel(shape); ++element) {
    std::array<Index, N> offsets{};
    Index rest = element;
    for (Index axis = shape.rank() - 1; axis >= 0; --axis) {
      for (std::size_t k = 0; k < N; ++k) {
        offsets[k] += rest % shape[axis] * strides[k][axis];
      }
      rest /= shape[axis];
    }
    all.push_back(offsets);
  }
  return all;
}

template <std::size_t N>
std::vector<std::array<Index, N>> walked_offsets(const StridedRows<N>& rows) {
  std::vector<std::array<Index, N>> all;
  for (Index row = 0; row < rows.count; ++row) {
    for (Index i = 0; i < rows.length; ++i) {
      std::array<Index, N> offsets = rows.start(row);
      for (std::size_t k = 0; k < N; ++k) {
        offsets[k] += i * rows.step[k];
      }
      all.push_back(offsets);
    }
  }
  return all;
}

TEST_CASE("two contiguous operands are walked as a single row") {
  const StridedRows<2> rows({2, 3, 4}, {Shape{12, 4, 1}, Shape{12, 4, 1}});
  CHECK(rows.count == 1);
  CHECK(rows.length == 24);
  CHECK(rows.step == std::array<Index, 2>{1, 1});
}

TEST_CASE("only axes that are contiguous for every operand are merged") {
  const StridedRows<2> rows({2, 3, 4}, {Shape{12, 4, 1}, Shape{4, 8, 1}});
  CHECK(rows.count == 6);
  CHECK(rows.length == 4);
  CHECK(rows.start(4) == std::array<Index, 2>{16, 12});
  const StridedRows<2> outer({2, 3, 4}, {Shape{12, 4, 1}, Shape{3, 1, 6}});
  CHECK(outer.count == 6);
  CHECK(outer.length == 4);
  CHECK(outer.step == std::array<Index, 2>{1, 6});
}

TEST_CASE("a scalar and axes of size 1 are one row of one element") {
  const StridedRows<1> scalar({}, {Shape{}});
  CHECK(scalar.count * scalar.length == 1);
  CHECK(scalar.start(0)[0] == 0);
  const StridedRows<1> ones({1, 1, 1}, {Shape{5, 6, 7}});
  CHECK(ones.count * ones.length == 1);
}

TEST_CASE("a broadcast operand has stride 0") {
  const StridedRows<2> rows({4, 3}, {Shape{3, 1}, Shape{0, 0}});
  CHECK(rows.count == 1);
  CHECK(rows.length == 12);
  CHECK(rows.step == std::array<Index, 2>{1, 0});
}

TEST_CASE("an empty shape has no elements to walk") {
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 3}, Shape{2, 0, 4}}) {
    const StridedRows<1> rows(shape, {contiguous_strides(shape)});
    CHECK(rows.count * rows.length == 0);
  }
}

TEST_CASE("rows visit every element in row-major order for any shape and strides") {
  const RandomStream random{5, 0};
  for (std::uint64_t trial = 0; trial < 300; ++trial) {
    std::uint64_t position = trial * 100;
    Shape shape;
    std::array<Shape, 3> strides;
    const auto rank = random.below(position++, kMaxRank + 1);
    for (std::uint64_t axis = 0; axis < rank; ++axis) {
      shape.push_back(static_cast<Index>(1 + random.below(position++, 3)));
    }
    strides[0] = contiguous_strides(shape);
    for (Index axis = 0; axis < shape.rank(); ++axis) {
      strides[1].push_back(random.below(position++, 2) == 0 ? 0 : strides[0][axis]);
      strides[2].push_back(static_cast<Index>(random.below(position++, 4)));
    }
    CHECK(walked_offsets(StridedRows<3>(shape, strides)) == naive_offsets(shape, strides));
  }
}
