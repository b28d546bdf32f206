#pragma once

#include <cmath>
#include <cstdint>

// Included by loops.cpp of this folder only, inside its anonymous namespace's reach: everything
// here is static, because each copy is compiled for another instruction set and must not be merged.
namespace headlight::kernels {
namespace {

// exp(x) with an error of at most 2 units in the last place; 0 below, infinity above the range, and
// denormal results right. Argument reduction x = n ln 2 + r, |r| <= ln 2 / 2 (Cody and Waite,
// "Software Manual for the Elementary Functions", 1980), Taylor polynomial of degree 7, and 2^n
// multiplied in two halves so that the ends of the exponent range do not overflow early.
inline float fast_exp(float x) {
  constexpr float kLog2E = 1.44269504088896341F;
  constexpr float kLn2High = 0.693145751953125F;
  constexpr float kLn2Low = 1.42860682030941723212e-6F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  x = x < -110.0F ? -110.0F : x;         // written so that NaN passes through
  x = x > 100.0F ? 100.0F : x;
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.0F / 5040.0F;
  p = p * r + 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r * r + r;
  p = p + 1.0F;
  const std::int32_t exponent =
      __builtin_bit_cast(std::int32_t, shifted) - __builtin_bit_cast(std::int32_t, kRound);
  const std::int32_t half = exponent >> 1;
  const float scale1 = __builtin_bit_cast(float, (half + 127) << 23);
  const float scale2 = __builtin_bit_cast(float, (exponent - half + 127) << 23);
  return p * scale1 * scale2;
}

inline double fast_exp(double x) { return std::exp(x); }

template <class T>
inline T sigmoid(T x) {
  return T{1} / (T{1} + fast_exp(-x));
}

// GELU in its tanh form: x * (1 + tanh(u)) / 2 = x * sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715
// x^3) (Hendrycks and Gimpel, arXiv 1606.08415). This is twice u.
template <class T>
inline T gelu_argument(T x) {
  constexpr T kTwoSqrt2OverPi = T(1.5957691216057307117597842397375);
  return kTwoSqrt2OverPi * (x + T(0.044715) * x * x * x);
}

template <class T>
inline T gelu_value(T x) {
  return x * sigmoid(gelu_argument(x));
}

template <class T>
struct GeluPoint {
  T value;
  T slope;
};

template <class T>
inline GeluPoint<T> gelu_point(T x) {
  constexpr T kTwoSqrt2OverPi = T(1.5957691216057307117597842397375);
  const T s = sigmoid(gelu_argument(x));
  const T argument_slope = kTwoSqrt2OverPi * (T{1} + T(3 * 0.044715) * x * x);
  return {x * s, s + x * s * (T{1} - s) * argument_slope};
}

}  // namespace
}  // namespace headlight::kernels
