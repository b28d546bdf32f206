#pragma once

#include <string_view>

#include "headlight/nn/gpt.h"

namespace headlight {

// How a Decoder keeps the matrices of a model. Everything else (embeddings that are looked up,
// norms, biases, activations, sums) is float32 in each of them.
enum class WeightFormat {
  float32,
  bfloat16,  // rounded to nearest, ties to even: half the memory, and nearly half the time
  int8,      // 32 neighbours in a row share a float32 scale, rounded to nearest: 36 bytes for 128
};

// "float32", "bfloat16" or "int8".
std::string_view weight_format_name(WeightFormat format);
// Throws Error for any other text.
WeightFormat parse_weight_format(std::string_view name);

// Gives the matrices of a float32 model the values that a Decoder of that format computes with, so
// that the model itself shows what the format costs. With tied weights that includes the token
// embedding.
void round_weights(Gpt& model, WeightFormat format);

}  // namespace headlight
