#pragma once

#include "headlight/autograd/saved_tensor.h"
#include "headlight/ops/normalization.h"

// Helpers that normalize() shares with the ops that contain a norm.
namespace headlight {

struct NormInputs {
  Tensor x;       // contiguous [..., C]
  Tensor factor;  // [C], the gain or 1 + gain
  Tensor shift;   // [C]
  double epsilon = 1e-5;
  NormKind kind = NormKind::layer;

  Index width() const { return x.size(-1); }
  Index rows() const { return width() == 0 ? 0 : x.numel() / width(); }
};

// Checks the parameters; replaces an undefined gain by ones and an undefined shift by zeros.
NormInputs norm_inputs(const Tensor& x, const NormParameters& norm);

// Norm inputs that an op saves for backward, where it normalises the rows again.
class SavedNormInputs {
 public:
  // `op` is a string literal.
  SavedNormInputs(const char* op, const NormInputs& in)
      : x_(op, "input", in.x),
        factor_(op, "gain", in.factor),
        shift_(op, "shift", in.shift),
        epsilon_(in.epsilon),
        kind_(in.kind) {}

  // Throws Error if the saved tensors were overwritten.
  NormInputs get() const { return {x_.get(), factor_.get(), shift_.get(), epsilon_, kind_}; }

 private:
  SavedTensor x_;
  SavedTensor factor_;
  SavedTensor shift_;
  double epsilon_;
  NormKind kind_;
};

// Statistics that normalised each row.
struct RowStatistics {
  Tensor mean;               // [N]; 0 in an RMS norm
  Tensor inverse_deviation;  // [N]; for an RMS norm 1 / sqrt(mean square + epsilon)
};

RowStatistics empty_statistics(const NormInputs& in);

// Writes the normalised rows [first, last) to the start of `value` and stores their statistics.
void normalize_rows(const NormInputs& in, Index first, Index last, Tensor& value,
                    RowStatistics& statistics);

struct NormGradients {
  Tensor x;      // [..., C]
  Tensor gain;   // [C]
  Tensor shift;  // [C]
};

// Does not read in.shift.
NormGradients norm_gradients(const NormInputs& in, const Tensor& grad,
                             const RowStatistics& statistics);

}  // namespace headlight
