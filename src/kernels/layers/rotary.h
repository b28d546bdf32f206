#pragma once

#include <cstdint>
#include <span>

#include "headlight/kernels/rotary.h"
#include "headlight/tensor/shape.h"

namespace headlight::kernels {

// How the vectors of one token are turned.
struct RowRotation {
  std::span<const float> inverse_frequencies = {};  // [r / 2]
  std::int32_t position = 0;
  RotaryStyle style = RotaryStyle::half;
  bool backward = false;  // by the opposite angles
};

// y = x [heads, width], turned; what lies behind the first r elements of a head is copied. y may be
// x. On one thread. The op and the decoder turn with this, so that their bits are equal.
template <class T>
void rotate_row(const T* x, T* y, Index heads, Index width, const RowRotation& rotation);

// Within a unit in the last place of double for |angle| < 2^31, from additions and multiplications
// alone: the same bits in every CPU variant. Exposed for tests.
struct CosineAndSine {
  double cosine;
  double sine;
};
CosineAndSine cosine_and_sine(double angle);

}  // namespace headlight::kernels
