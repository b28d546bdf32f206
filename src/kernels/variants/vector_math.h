#pragma once

#include <cmath>
#include <cstdint>

// Elementary functions for the loops of this folder. They have no branches, so that they vectorise.
// Everything is static, because copies for different instruction sets must not be merged.
// Polynomials are minimax fits with coefficients rounded to float one by one, the lowest first.
// Errors are at most 2 units in the last place for all floats; tests/kernels/vector_math_test.cpp
// can check every float.
namespace headlight::kernels {
namespace {

inline constexpr float kLn2High = 0.693145751953125F;
inline constexpr float kLn2Low = 1.42860682030941723212e-6F;

inline float from_bits(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline std::uint32_t to_bits(float x) { return __builtin_bit_cast(std::uint32_t, x); }

inline float magnitude(float x) { return __builtin_fabsf(x); }
inline double magnitude(double x) { return __builtin_fabs(x); }

// exp(x) = p 2^n.
struct ExpParts {
  float p;
  std::uint32_t n;  // n plus the requested bias, in the lowest bits
};

// x = n ln 2 + r, |r| <= ln 2 / 2 (Cody and Waite, "Software Manual for the Elementary Functions",
// 1980); p = exp(r) from a polynomial. Adding 1.5 * 2^23 rounds to a whole number and leaves it,
// with the bias, in the lowest bits.
inline ExpParts exp_parts(float x, float bias) {
  constexpr float kLog2E = 1.44269504088896341F;
  const float round = 12582912.0F + bias;
  const float shifted = x * kLog2E + round;
  const float n = shifted - round;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 0.0013820946915075183F;
  p = p * r + 0.008368683978915215F;
  p = p * r + 0.04166826605796814F;
  p = p * r + 0.1666652113199234F;
  p = p * r + 0.4999999403953552F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  return {p, to_bits(shifted)};
}

// exp(x): 0 below the range, infinity above, exact denormal results, NaN for NaN. Multiplies by 2^n
// in two factors, because n exceeds the exponents of floats at both ends.
inline float fast_exp(float x) {
  constexpr std::uint32_t kLowest = __builtin_bit_cast(std::uint32_t, -104.0F);  // exp rounds to 0
  // Floats below -104 have larger bits, all others smaller ones.
  const float bounded = from_bits(to_bits(x) < kLowest ? to_bits(x) : kLowest);
  const ExpParts parts = exp_parts(bounded, 254.0F);  // twice the exponent's bias
  const std::uint32_t half = parts.n >> 1;
  const float y = parts.p * from_bits(half << 23) * from_bits((parts.n - half) << 23);
  return x <= 104.0F ? y : x + __builtin_inff();  // infinity above, NaN for NaN
}

inline double fast_exp(double x) { return std::exp(x); }

// exp(x) for softmax, where x <= 0 up to rounding. Gives 0 instead of denormals (x < -87), which do
// not change a sum >= 1. Denormal results would take a CPU 100 times as long.
inline float softmax_exp(float x) {
  constexpr float kLowest = -87.0F;
  const float bounded = x < kLowest ? kLowest : x;  // NaN stays NaN
  const ExpParts parts = exp_parts(bounded, 127.0F);
  const float y = parts.p * from_bits(parts.n << 23);
  return x < kLowest ? 0.0F : y;
}

inline double softmax_exp(double x) { return std::exp(x); }

// tanh(x): an odd polynomial near 0, 1 - 2 / (exp(2 |x|) + 1) beyond.
inline float fast_tanh(float x) {
  constexpr float kPolynomialEnd = 0.625F;
  constexpr std::uint32_t kSign = 0x80000000U;
  float a = magnitude(x);
  a = a > 10.0F ? 10.0F : a;  // tanh(10) rounds to 1
  const float square = a * a;
  float p = -0.0056922961957752705F;
  p = p * square + 0.02062816731631756F;
  p = p * square - 0.05373651534318924F;
  p = p * square + 0.13331405818462372F;
  p = p * square - 0.3333328068256378F;
  const float small = a + a * (square * p);
  const float large = 1.0F - 2.0F / (fast_exp(2.0F * a) + 1.0F);
  const float magnitude = a < kPolynomialEnd ? small : large;
  return from_bits(to_bits(magnitude) | (to_bits(x) & kSign));
}

inline double fast_tanh(double x) { return std::tanh(x); }

// log(x) of a finite normal x > 0, plus shift ln 2. x = 2^k m with m from sqrt(1/2) to sqrt(2), and
// log(m) = f - f^2 / 2 + f^3 P(f), f = m - 1, as in Moshier's Cephes library.
inline float normal_log(float normal, float shift = 0.0F) {
  constexpr std::uint32_t kRootHalf = 0x3F3504F3U;
  const auto exponent = static_cast<std::int32_t>(to_bits(normal) - kRootHalf) >> 23;
  const float f = from_bits(to_bits(normal) - (static_cast<std::uint32_t>(exponent) << 23)) - 1.0F;
  const float k = static_cast<float>(exponent) + shift;
  float p = -0.07636439055204391F;
  p = p * f + 0.12762217223644257F;
  p = p * f - 0.13159610331058502F;
  p = p * f + 0.14201579988002777F;
  p = p * f - 0.166234090924263F;
  p = p * f + 0.2000124156475067F;
  p = p * f - 0.2500081956386566F;
  p = p * f + 0.3333333134651184F;
  const float square = f * f;
  const float rest = (f * square) * p + k * kLn2Low - 0.5F * square;
  return (f + rest) + k * kLn2High;
}

// log(x); -infinity for 0, NaN for x < 0.
inline float fast_log(float x) {
  constexpr float kInfinity = __builtin_inff();
  const bool denormal = x < 0x1p-126F;
  float y = normal_log(denormal ? x * 0x1p23F : x, denormal ? -23.0F : 0.0F);
  y = x < kInfinity ? y : x;  // infinity and NaN
  y = x == 0.0F ? -kInfinity : y;
  return x < 0.0F ? __builtin_nanf("") : y;
}

inline double fast_log(double x) { return std::log(x); }

}  // namespace
}  // namespace headlight::kernels
