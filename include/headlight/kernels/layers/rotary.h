#pragma once

#include "headlight/base/choices.h"

namespace headlight {

// Pairs of elements that are rotated together, for the first r elements of a vector.
enum class RotaryStyle {
  half,         // i and i + r / 2: GPT-NeoX, and Llama as Hugging Face stores it
  interleaved,  // 2 i and 2 i + 1: GPT-J, and Llama as its authors store it
};

template <>
inline constexpr auto kChoices<RotaryStyle> = std::to_array<Choice<RotaryStyle>>(
    {{"half", RotaryStyle::half}, {"interleaved", RotaryStyle::interleaved}});

}  // namespace headlight
