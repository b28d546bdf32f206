#pragma once

#include "headlight/base/choices.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// Number format of the matrices in a Decoder. Embeddings for look-up, norms, biases, activations
// and sums are always float32.
enum class WeightFormat {
  float32,
  bfloat16,  // rounded to nearest, ties to even: half the memory, nearly half the time
  // 32 neighbours in a row share a float32 scale: 36 bytes for 128. Activations are rounded to
  // 2^-15 of the largest of 32, for the product only.
  int8,
};

template <>
inline constexpr auto kChoices<WeightFormat> =
    std::to_array<Choice<WeightFormat>>({{"float32", WeightFormat::float32},
                                         {"bfloat16", WeightFormat::bfloat16},
                                         {"int8", WeightFormat::int8}});

// Throws Error when a model and its Decoder's matrices exceed the free memory. The one-line message
// has the needed and free memory and the formats that would fit.
void require_decoder_memory(const GptConfig& config, WeightFormat format);

// Rounds the matrices of a float32 model to the values that a Decoder of this format uses. The
// model then shows the loss of quality. With tied weights this includes the token embedding.
void round_weights(Gpt& model, WeightFormat format);

}  // namespace headlight
