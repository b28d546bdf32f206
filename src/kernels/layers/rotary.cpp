#include "kernels/layers/rotary.h"

#include <algorithm>

#include "kernels/loops.h"

namespace headlight::kernels {
namespace {

// Pairs whose cosines and sines are computed at a time, for all heads.
constexpr Index kPairs = 64;

// x (1 - x^2 / 3! + x^4 / 5! - ...) for |x| <= pi / 4; the first omitted term is below 1e-19.
double sine_near_zero(double x, double square) {
  double p = 1.0 / 355687428096000;  // 17!
  p = p * square - 1.0 / 1307674368000;
  p = p * square + 1.0 / 6227020800;
  p = p * square - 1.0 / 39916800;
  p = p * square + 1.0 / 362880;
  p = p * square - 1.0 / 5040;
  p = p * square + 1.0 / 120;
  p = p * square - 1.0 / 6;
  return x + x * (square * p);
}

double cosine_near_zero(double square) {
  double p = 1.0 / 20922789888000;  // 16!
  p = p * square - 1.0 / 87178291200;
  p = p * square + 1.0 / 479001600;
  p = p * square - 1.0 / 3628800;
  p = p * square + 1.0 / 40320;
  p = p * square - 1.0 / 720;
  p = p * square + 1.0 / 24;
  return 1.0 - (0.5 * square - square * (square * p));
}

}  // namespace

// Reduces angle = n pi / 2 + x. pi / 2 is subtracted in three parts; the first two have 22 bits, so
// their products with n are exact (Cody and Waite, "Software Manual for the Elementary Functions",
// 1980). Adding 1.5 * 2^52 rounds to a whole number.
CosineAndSine cosine_and_sine(double angle) {
  constexpr double kTwoOverPi = 0.63661977236758134308;
  constexpr double kHigh = 0x1.921fbp+0;
  constexpr double kMiddle = 0x1.5110b0p-22;
  constexpr double kLow = 0x1.18469898cc517p-44;
  constexpr double kRound = 0x1.8p52;
  const double n = (angle * kTwoOverPi + kRound) - kRound;
  const double x = ((angle - n * kHigh) - n * kMiddle) - n * kLow;
  const double square = x * x;
  const double sine = sine_near_zero(x, square);
  const double cosine = cosine_near_zero(square);
  const auto quarter = static_cast<std::int64_t>(n);
  const bool swapped = (quarter & 1) != 0;
  const double c = swapped ? sine : cosine;
  const double s = swapped ? cosine : sine;
  return {((quarter + 1) & 2) != 0 ? -c : c, (quarter & 2) != 0 ? -s : s};
}

namespace {

// Writes the cosines and sines of pairs [first, first + count).
template <class T>
void write_rotary(const RowRotation& rotation, Index first, Index count, T* cosines, T* sines) {
  const auto position = static_cast<float>(rotation.position);
  for (Index i = 0; i < count; ++i) {
    const float angle =
        position * rotation.inverse_frequencies[static_cast<std::size_t>(first + i)];
    const CosineAndSine values = cosine_and_sine(static_cast<double>(angle));
    cosines[i] = static_cast<T>(values.cosine * rotation.factor);
    sines[i] = static_cast<T>((rotation.backward ? -values.sine : values.sine) * rotation.factor);
  }
}

// Pairs of a head's r elements.
struct PairRange {
  Index first;
  Index count;
  Index all;  // r / 2
};

// Rotates some pairs of one head.
template <class T>
void rotate_pairs_of_head(const T* x, T* y, RotaryStyle style, const PairRange& pairs,
                          const Rotation<T>& by) {
  if (style == RotaryStyle::half) {
    const Index a = pairs.first;
    loops<T>().rotate_halves(x + a, x + a + pairs.all, by, y + a, y + a + pairs.all, pairs.count);
  } else {
    const Index a = 2 * pairs.first;
    loops<T>().rotate_pairs(x + a, by, y + a, pairs.count);
  }
}

}  // namespace

template <class T>
void rotate_row(const T* x, T* y, Index heads, Index width, const RowRotation& rotation) {
  const auto pairs = static_cast<Index>(rotation.inverse_frequencies.size());
  T cosines[kPairs];
  T sines[kPairs];
  for (Index first = 0; first < pairs; first += kPairs) {
    const Index count = std::min(kPairs, pairs - first);
    write_rotary(rotation, first, count, cosines, sines);
    for (Index head = 0; head < heads; ++head) {
      rotate_pairs_of_head(x + head * width, y + head * width, rotation.style,
                           {first, count, pairs}, {cosines, sines});
    }
  }
  if (y != x) {
    for (Index head = 0; head < heads; ++head) {
      std::copy_n(x + head * width + 2 * pairs, width - 2 * pairs, y + head * width + 2 * pairs);
    }
  }
}

void compute_rotary(const RowRotation& rotation, const RotaryCosSin& cos_sin) {
  write_rotary(rotation, 0, cos_sin.pairs, cos_sin.cosines, cos_sin.sines);
}

void rotate_heads(float* x, Index heads, Index width, RotaryStyle style,
                  const RotaryCosSin& cos_sin) {
  for (Index head = 0; head < heads; ++head) {
    rotate_pairs_of_head(x + head * width, x + head * width, style,
                         {0, cos_sin.pairs, cos_sin.pairs}, {cos_sin.cosines, cos_sin.sines});
  }
}

template void rotate_row(const float*, float*, Index, Index, const RowRotation&);
template void rotate_row(const double*, double*, Index, Index, const RowRotation&);

}  // namespace headlight::kernels
