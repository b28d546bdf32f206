#pragma once

#include "headlight/nn/gpt.h"

namespace headlight {

// A norm of a model that divides by what it divided some rows by: of the parts that these rows are
// sums of, it is a linear function. Computes in float64 where the rows are, else in float32.
class FrozenNorm {
 public:
  // Part::final_norm, with kNoLayer, or an output norm of a layer, as it reads `whole` [N, C].
  FrozenNorm(const Gpt& model, Part part, Index layer, const Tensor& whole);

  // What it makes of parts [N, C] of those rows, without the shift.
  Tensor of(const Tensor& parts) const;
  // What parts must be multiplied with, [N, C], instead of of(parts) with `directions` [N, C]: the
  // transpose of of().
  Tensor pulled_back(const Tensor& directions) const;
  // [C]; undefined where the norm has none.
  const Tensor& shift() const { return shift_; }

 private:
  Tensor centred(const Tensor& rows) const;

  bool is_centred_;
  Tensor factor_;  // [N, C]: gain / deviation
  Tensor shift_;
};

}  // namespace headlight
