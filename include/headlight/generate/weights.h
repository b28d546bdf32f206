#pragma once

#include "headlight/base/choices.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// How a Decoder keeps the matrices of a model. Everything else (embeddings that are looked up,
// norms, biases, activations, sums) is float32 in each of them.
enum class WeightFormat {
  float32,
  bfloat16,  // rounded to nearest, ties to even: half the memory, and nearly half the time
  int8,      // 32 neighbours in a row share a float32 scale, rounded to nearest: 36 bytes for 128;
             // what they meet is rounded to 2^-15 of the largest of 32, for that product alone
};

template <>
inline constexpr auto kChoices<WeightFormat> =
    std::to_array<Choice<WeightFormat>>({{"float32", WeightFormat::float32},
                                         {"bfloat16", WeightFormat::bfloat16},
                                         {"int8", WeightFormat::int8}});

// Throws Error, one line that says what is needed, what is free and which formats would fit, when a
// model and the matrices that a Decoder keeps beside it take more memory than there is.
void require_decoder_memory(const GptConfig& config, WeightFormat format);

// Gives the matrices of a float32 model the values that a Decoder of that format computes with, so
// that the model itself shows what the format costs. With tied weights that includes the token
// embedding.
void round_weights(Gpt& model, WeightFormat format);

}  // namespace headlight
