#pragma once

#include "headlight/nn/gpt.h"
#include "headlight/nn/packed/matrix_form.h"

namespace headlight {

// Stores the matrices of the layers, which must be frozen, as `format` and frees their float32
// elements. Products unpack a few rows at a time and compute in float32. Throws Error for a model
// with trained matrices or one of float64.
void pack_matrices(Gpt& model, WeightFormat format);

}  // namespace headlight
