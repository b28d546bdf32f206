#pragma once

#include <cstdint>

namespace headlight {

// Converts IEEE 754 binary16 to binary32 exactly. Keeps the bits of a NaN.
float half_to_float(std::uint16_t half);

// Rounds to the nearest binary16, ties to even. Too large values become infinite. NaN stays NaN.
std::uint16_t float_to_half(float value);

// Rounds to the nearest bfloat16, ties to even. NaN stays NaN.
std::uint16_t float_to_bfloat16(float value);

}  // namespace headlight
