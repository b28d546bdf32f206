#pragma once

#include "headlight/ops/normalization.h"

namespace headlight {

struct NormOptions {
  Index width = 0;
  double epsilon = 1e-5;
  bool bias = true;  // LayerNorm only; ignored for NormKind::rms
  DType dtype = DType::float32;
  bool affine = true;               // the norm has a gain, and a shift if `bias` is true
  NormKind kind = NormKind::layer;  // LayerNorm only, like gain_plus_one
  bool gain_plus_one = false;       // see NormParameters; the gain starts at 0
};

}  // namespace headlight
