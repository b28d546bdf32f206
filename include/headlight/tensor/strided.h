#pragma once

#include <array>
#include <cstddef>

#include "headlight/tensor/shape.h"

namespace headlight {

// Walks N operands of one shape together, each with its own strides, as a list of rows:
// neighbouring axes that are contiguous for every operand are merged first, so that two contiguous
// tensors are a single row. Element i of row r of operand k lies at start(r)[k] + i * step[k].
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

  // Offsets of the first element of row `row`, one per operand.
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

  Index count = 1;   // rows
  Index length = 1;  // elements of a row
  Offsets step{};    // distance between neighbours in a row, one per operand

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

  Shape sizes_;                     // of the merged axes, without the row's own
  std::array<Shape, N> strides_{};  // of the merged axes
};

}  // namespace headlight
