#pragma once

#include "headlight/nn/gpt.h"

namespace headlight {

// A norm with its scale fixed to that of some rows. It is linear up to the shift, so it also
// normalises summands of these rows. Computes in float64 for float64 rows, else in float32.
class FrozenNorm {
 public:
  // For Part::final_norm, with kNoLayer, or a norm of a layer; `whole` [N, C] is its input.
  // Undefined: the scale is 1, in float64.
  FrozenNorm(const Gpt& model, Part part, Index layer, const Tensor& whole = {});

  // Normalises parts [N, C] of those rows, without the shift.
  Tensor of(const Tensor& parts) const;
  // Transpose of of(): a product of pulled_back(directions) with parts equals the product of
  // `directions` with of(parts). All are [N, C].
  Tensor pulled_back(const Tensor& directions) const;
  // Shift of the norm, [C]; undefined if it has none.
  const Tensor& shift() const { return shift_; }

 private:
  Tensor centred(const Tensor& rows) const;

  bool is_centred_;
  Tensor factor_;  // [N, C]: gain / deviation
  Tensor shift_;
};

}  // namespace headlight
