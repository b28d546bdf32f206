#pragma once

#include "headlight/nn/packed/packed_weights.h"

namespace headlight {

// Throws Error when a model for generation exceeds the free memory. Counts float32 matrices twice:
// as parameters and for steps. The one-line message has the needed and free memory and the formats
// that would fit.
void require_decoder_memory(const GptConfig& config, WeightFormat format);

// Rounds the matrices of a float32 model to the values that a Decoder of this format uses. The
// model then shows the loss of quality. With tied weights this includes the token embedding.
void round_weights(Gpt& model, WeightFormat format);

}  // namespace headlight
