#pragma once

#include <cstdint>

namespace headlight {

// IEEE 754 binary16 to binary32, which holds every value of it; the bits of a NaN are kept.
float half_to_float(std::uint16_t half);

// Rounds to the nearest binary16, ties to even; what is too large becomes infinite. NaN stays NaN.
std::uint16_t float_to_half(float value);

// The same to bfloat16.
std::uint16_t float_to_bfloat16(float value);

}  // namespace headlight
