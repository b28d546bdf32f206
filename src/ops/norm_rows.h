#pragma once

#include "headlight/autograd/saved_tensor.h"
#include "headlight/ops/normalization.h"

// Helpers that normalize() shares with the ops that contain a norm.
namespace headlight {

// Inputs of a norm, saved for backward, where it normalises the rows again.
struct NormInputs {
  SavedTensor x;       // contiguous [..., C]
  SavedTensor factor;  // [C], the gain or 1 + gain
  SavedTensor shift;   // [C]
  double epsilon = 1e-5;
  NormKind kind = NormKind::layer;

  Index width() const { return x.shape().back(); }
  Index rows() const { return width() == 0 ? 0 : numel(x.shape()) / width(); }
};

// Checks the parameters; replaces an undefined gain by ones and an undefined shift by zeros. `op`,
// a string literal, is the op that saves the inputs.
NormInputs norm_inputs(const char* op, const Tensor& x, const NormParameters& norm);

// Statistics that normalised each row.
struct RowStatistics {
  Tensor mean;               // [N]; 0 in an RMS norm
  Tensor inverse_deviation;  // [N]; for an RMS norm 1 / sqrt(mean square + epsilon)
};

RowStatistics empty_statistics(const NormInputs& in);

// Returns the normalised rows [first, last), [last - first, C], and stores their statistics.
Tensor normalized_rows(const NormInputs& in, Index first, Index last, RowStatistics& statistics);

struct NormGradients {
  Tensor x;      // [..., C]
  Tensor gain;   // [C]
  Tensor shift;  // [C]
};

// Does not read in.shift.
NormGradients norm_gradients(const NormInputs& in, const Tensor& grad,
                             const RowStatistics& statistics);

}  // namespace headlight
