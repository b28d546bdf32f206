#pragma once

#include "headlight/generate/weights.h"
#include "headlight/tensor/tensor.h"
#include "kernels/panels/panels.h"

namespace headlight {

kernels::PanelFormat panel_format(WeightFormat format);

// Vectors of a step, stored with a constant stride.
struct StepVectors {
  float* start = nullptr;
  Index stride = 0;  // elements from one vector to the next

  float* of(Index b) const { return start + b * stride; }
};

// A matrix [rows, columns] and its bias in the layout that steps read: panels of 16 rows.
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

 private:
  Index rows_ = 0;
  Index columns_ = 0;
  Index panel_bytes_ = 0;
  kernels::PanelFormat format_ = kernels::PanelFormat::float32;
  Tensor memory_;  // the panels
  Tensor bias_;    // [16 panels] or undefined
};

}  // namespace headlight
