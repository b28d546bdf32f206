#pragma once

#include <cstdint>
#include <span>

#include "headlight/kernels/layers/rotary.h"
#include "headlight/tensor/shape.h"

namespace headlight::kernels {

// Rotation of one token's vectors.
struct RowRotation {
  std::span<const float> inverse_frequencies = {};  // [r / 2]
  std::int32_t position = 0;
  RotaryStyle style = RotaryStyle::half;
  bool backward = false;  // rotates by the opposite angles
  double factor = 1;      // of the rotated elements
};

// y = x [heads, width], rotated; elements of a head after the first r are copied. y may be x. Runs
// on one thread. The op and the decoder share this function, so that their bits are equal.
template <class T>
void rotate_row(const T* x, T* y, Index heads, Index width, const RowRotation& rotation);

// Cosines and sines of a position, for many rows.
struct RotaryCosSin {
  float* cosines;  // [pairs]
  float* sines;    // [pairs]
  Index pairs;     // r / 2
};

// Computes the cosines and sines of a position: as many pairs as `rotation` has frequencies.
void compute_rotary(const RowRotation& rotation, const RotaryCosSin& cos_sin);
// Rotates x [heads, width] in place, with the bits of rotate_row().
void rotate_heads(float* x, Index heads, Index width, RotaryStyle style,
                  const RotaryCosSin& cos_sin);

// Accurate to one unit in the last place of double for |angle| < 2^31. Uses only additions and
// multiplications, so every CPU variant gives the same bits. Exposed for tests.
struct CosineAndSine {
  double cosine;
  double sine;
};
CosineAndSine cosine_and_sine(double angle);

}  // namespace headlight::kernels
