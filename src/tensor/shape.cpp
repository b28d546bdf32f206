#include "headlight/tensor/shape.h"

#include <algorithm>
#include <ostream>

#include "headlight/base/error.h"

namespace headlight {

Shape::Shape(std::span<const Index> sizes) {
  for (const Index size : sizes) {
    push_back(size);
  }
}

Shape Shape::filled(Index rank, Index value) {
  Shape shape;
  for (Index axis = 0; axis < rank; ++axis) {
    shape.push_back(value);
  }
  return shape;
}

void Shape::push_back(Index size) {
  require(rank_ < kMaxRank, "[Shape] at most ", kMaxRank, " axes are supported");
  (*this)[rank_++] = size;
}

void Shape::insert(Index axis, Index size) {
  push_back(size);
  std::rotate(begin() + axis, end() - 1, end());
}

void Shape::erase(Index axis) {
  std::copy(begin() + axis + 1, end(), begin() + axis);
  --rank_;
}

bool Shape::operator==(const Shape& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

Index numel(const Shape& shape) {
  Index count = 1;
  for (const Index size : shape) {
    require(size >= 0, "[Shape] sizes must not be negative, got ", shape);
    require(!__builtin_mul_overflow(count, size, &count), "[Shape] too many elements: ", shape);
  }
  return count;
}

Shape contiguous_strides(const Shape& shape) {
  Shape strides = shape;
  Index stride = 1;
  for (Index axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    // Overflows only if another axis has size 0; then no stride is used.
    static_cast<void>(__builtin_mul_overflow(stride, shape[axis], &stride));
  }
  return strides;
}

Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view where) {
  const Index rank = std::max(a.rank(), b.rank());
  Shape result = Shape::filled(rank, 1);
  for (Index back = 1; back <= rank; ++back) {
    const Index size_a = back <= a.rank() ? a[a.rank() - back] : 1;
    const Index size_b = back <= b.rank() ? b[b.rank() - back] : 1;
    require(size_a == size_b || size_a == 1 || size_b == 1, "[", where,
            "] shapes do not broadcast: ", a, " and ", b);
    result[rank - back] = size_a == 1 ? size_b : size_a;
  }
  return result;
}

Index normalize_axis(Index axis, Index rank, std::string_view where) {
  require(axis >= -rank && axis < rank, "[", where, "] axis ", axis,
          " is out of range for a tensor with ", rank, " axes");
  return axis < 0 ? axis + rank : axis;
}

void append_text(std::string& out, const Shape& shape) {
  out += '[';
  for (Index axis = 0; axis < shape.rank(); ++axis) {
    out += (axis > 0 ? ", " : "") + std::to_string(shape[axis]);
  }
  out += ']';
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << concat_text(shape);
}

}  // namespace headlight
