#pragma once

#include <memory>

#include "headlight/tensor/tensor.h"
#include "kernels/panels/panels.h"

namespace headlight {

// Vectors of a step, stored with a constant stride.
struct StepVectors {
  float* start = nullptr;
  Index stride = 0;  // elements from one vector to the next

  float* of(Index b) const { return start + b * stride; }
};

// A matrix [rows, columns] and its bias in the layout that generation steps read: panels of 16
// rows.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // `bias` may be undefined.
  PackedMatrix(const Tensor& weight, const Tensor& bias, WeightFormat format);

  Index rows() const { return rows_; }
  Index columns() const { return columns_; }
  Index panels() const { return kernels::panel_count(rows_); }

  // Computes the rows of panels [begin, end) of y = weight x + bias for `batch` vectors. Writes 0
  // to the padding of the last panel.
  void multiply(Index begin, Index end, Index batch, const StepVectors& x,
                const StepVectors& y) const;
  // Returns x [N, columns] times the weight transposed, plus the bias: [N, rows]. Runs on all
  // threads.
  Tensor product(const Tensor& x) const;
  // Returns rows [first, last), [last - first, columns], as the float32 weights that the panels
  // represent. `first` is a multiple of 16.
  Tensor unpacked(Index first, Index last) const;
  const Tensor& bias() const { return bias_; }

 private:
  Index rows_ = 0;
  Index columns_ = 0;
  Index panel_bytes_ = 0;
  WeightFormat format_ = WeightFormat::float32;
  Tensor memory_;  // the panels
  Tensor bias_;    // [16 panels] or undefined
};

// Returns x [..., columns] times the transposed matrix, plus its bias: [..., rows]. Multiplies with
// the float32 weights that the panels represent, unpacking few rows at a time, without rounding x.
// Only x gets a gradient: the matrix and its bias are frozen.
Tensor packed_linear(const Tensor& x, const std::shared_ptr<const PackedMatrix>& matrix,
                     Precision precision = Precision::float32);

}  // namespace headlight
