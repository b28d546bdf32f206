#pragma once

#include <array>
#include <cstddef>

#include "headlight/tensor/shape.h"

namespace headlight {

// Iterates over N operands of one shape, each with its own strides, as a list of rows. Adjacent
// axes that are contiguous for every operand are merged, so two contiguous tensors are a single
// row. Element i of row r of operand k is at start(r)[k] + i * step[k].
template <std::size_t N>
class StridedRows {
 public:
  using Offsets = std::array<Index, N>;

  StridedRows(const Shape& shape, const std::array<Shape, N>& strides) {
    for (Index axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] != 1) {
        add_axis(shape[axis], strides, axis);
      }
    }
    if (sizes_.rank() > 0) {
      const Index last = sizes_.rank() - 1;
      length = sizes_[last];
      sizes_.erase(last);
      for (std::size_t k = 0; k < N; ++k) {
        step[k] = strides_[k][last];
      }
    }
    count = numel(sizes_);
  }

  // Returns the offset of the first element of row `row`, one per operand.
  Offsets start(Index row) const {
    Offsets offsets{};
    for (Index axis = sizes_.rank() - 1; axis >= 0; --axis) {
      const Index position = row % sizes_[axis];
      row /= sizes_[axis];
      for (std::size_t k = 0; k < N; ++k) {
        offsets[k] += position * strides_[k][axis];
      }
    }
    return offsets;
  }

  Index count = 1;   // number of rows
  Index length = 1;  // elements per row
  Offsets step{};    // distance between adjacent elements of a row, one per operand

 private:
  void add_axis(Index size, const std::array<Shape, N>& strides, Index axis) {
    const Index previous = sizes_.rank() - 1;
    bool merges = previous >= 0;
    for (std::size_t k = 0; k < N && merges; ++k) {
      merges = strides_[k][previous] == strides[k][axis] * size;
    }
    if (merges) {
      sizes_[previous] *= size;
    } else {
      sizes_.push_back(size);
    }
    for (std::size_t k = 0; k < N; ++k) {
      if (merges) {
        strides_[k][previous] = strides[k][axis];
      } else {
        strides_[k].push_back(strides[k][axis]);
      }
    }
  }

  Shape sizes_;                     // sizes of the merged axes, without the row's axis
  std::array<Shape, N> strides_{};  // strides of these axes
};

}  // namespace headlight
