#pragma once

#include <string>
#include <vector>

#include "headlight/nn/gpt.h"

namespace headlight::test {

// The configuration of a number: every key drawn apart from the others, so that each meets each.
// Small enough for gradients by differences.
GptConfig drawn_config(int number);

std::string described(int number, const GptConfig& config);

// Far from where training begins, where most gradients are almost 0.
void spread_weights(const Gpt& gpt);

// As many as the block holds.
std::vector<std::int32_t> drawn_tokens(int number, const GptConfig& config);

}  // namespace headlight::test
