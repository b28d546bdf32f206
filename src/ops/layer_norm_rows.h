#pragma once

#include "headlight/autograd/saved_tensor.h"
#include "headlight/tensor/tensor.h"

// What layer_norm shares with the ops that contain one.
namespace headlight {

struct LayerNormInputs {
  Tensor x;      // contiguous [..., C]
  Tensor gain;   // [C]
  Tensor shift;  // [C]

  Index width() const { return x.size(-1); }
  Index rows() const { return width() == 0 ? 0 : x.numel() / width(); }
};

// Checks the parameters, either of which may be undefined, and puts ones and zeros in their place.
LayerNormInputs layer_norm_inputs(const Tensor& x, const Tensor& gain, const Tensor& shift);

// The same, kept by an op whose gradient normalises the rows again.
class SavedLayerNormInputs {
 public:
  // `op` is a string literal.
  SavedLayerNormInputs(const char* op, const LayerNormInputs& in)
      : x_(op, "input", in.x), gain_(op, "gain", in.gain), shift_(op, "shift", in.shift) {}

  // Throws Error when they were overwritten.
  LayerNormInputs get() const { return {x_.get(), gain_.get(), shift_.get()}; }

 private:
  SavedTensor x_;
  SavedTensor gain_;
  SavedTensor shift_;
};

// Mean and inverse deviation of each row.
struct RowStatistics {
  Tensor mean;               // [N]
  Tensor inverse_deviation;  // [N]
};

RowStatistics empty_statistics(const LayerNormInputs& in);

// Writes the normalised rows [first, last) to the start of `value` and keeps their statistics.
void normalize_rows(const LayerNormInputs& in, double epsilon, Index first, Index last,
                    Tensor& value, RowStatistics& statistics);

struct LayerNormGradients {
  Tensor x;      // [..., C]
  Tensor gain;   // [C]
  Tensor shift;  // [C]
};

// in.shift is not read.
LayerNormGradients layer_norm_gradients(const LayerNormInputs& in, const Tensor& grad,
                                        const RowStatistics& statistics);

}  // namespace headlight
