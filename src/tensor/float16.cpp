#include "tensor/float16.h"

#include <bit>
#include <cmath>

#include "headlight/tensor/dtype.h"

namespace headlight {
namespace {

constexpr std::uint32_t kFractionBits = 23 - 10;  // more in a float than in a half

}  // namespace

float half_to_float(std::uint16_t half) {
  constexpr std::uint32_t kHalfInfinity = 0x1F;
  constexpr std::uint32_t kRebias = 127 - 15;
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0) {  // zero and subnormal values: multiples of 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign == 0 ? magnitude : -magnitude;
  }
  const std::uint32_t wide = exponent == kHalfInfinity ? 0xFFU : exponent + kRebias;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << kFractionBits));
}

std::uint16_t float_to_half(float value) {
  constexpr std::uint32_t kRebias = std::uint32_t{127 - 15} << 23;
  constexpr std::uint32_t kInfinity = 0x7C00;
  constexpr std::uint32_t kQuiet = 0x0200;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  std::uint32_t half = kInfinity;
  if (std::isnan(value)) {
    half |= kQuiet | ((magnitude >> kFractionBits) & 0x3FFU);
  } else if (std::abs(value) < 0x1p-14F) {
    // Subnormal: 0.5 has fraction bits down to 2^-24, so that the sum is rounded there.
    half =
        std::bit_cast<std::uint32_t>(std::abs(value) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  } else if (std::abs(value) < 0x1p16F) {
    const std::uint32_t ties_to_even = 0xFFFU + ((magnitude >> kFractionBits) & 1U);
    half = (magnitude - kRebias + ties_to_even) >> kFractionBits;
  }
  return static_cast<std::uint16_t>(sign | half);
}

std::uint16_t float_to_bfloat16(float value) { return BFloat16(value).bits; }

}  // namespace headlight
