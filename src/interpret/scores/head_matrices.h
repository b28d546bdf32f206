#pragma once

#include "headlight/interpret/head_id.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// Matrices of one head, in the layout of the model. Heads that share keys and values share key and
// value.
struct HeadMatrices {
  Tensor query;   // W_Q^T [D, C]
  Tensor key;     // W_K^T [D, C]
  Tensor value;   // W_V^T [D, C]
  Tensor output;  // W_O^T [C, D]
};

// Returns the matrices of the head at `index` among the heads of a layer, with low-rank updates.
HeadMatrices head_matrices(const Gpt& model, Index layer, Index index, DType dtype);

}  // namespace headlight
