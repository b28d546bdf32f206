#pragma once

#include "support/test.h"

namespace headlight::test {

// Random configuration for a seed. Each key is independent, so all pairs of values occur. Models
// are small enough for numerical gradients.
GptConfig drawn_config(int number);

// Spreads the weights. At initial weights most gradients are almost 0.
void spread_weights(const Gpt& gpt);

// Random tokens that fill the context length.
std::vector<std::int32_t> drawn_tokens(int number, const GptConfig& config);

}  // namespace headlight::test
