#pragma once

#include <cstdint>
#include <vector>

#include "headlight/nn/gpt.h"

namespace headlight::cli::lab {

// As the first transformers began: embeddings of unit size, every other matrix uniform in
// +-sqrt(6 / (inputs + outputs)), where query, key and value count as matrices of their own.
// Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks",
// 2010.
void start_like_xavier(const Gpt& model, std::uint64_t seed);

// The norm of the gradients of each layer's matrices on a batch, [L].
std::vector<double> layer_gradients(Gpt& model, const Batch& batch);

}  // namespace headlight::cli::lab
