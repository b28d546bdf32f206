// Compiled once per instruction set, with the rules of loops.cpp.
#include "kernels/panels/step_search.h"

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "kernels/variants/tables.h"

namespace headlight::kernels {
namespace {

constexpr int kHalves = 2;  // a vector of floats has the lanes of two vectors of doubles
constexpr int kLanes = kSearchedParts / kHalves;

using Floats = float __attribute__((vector_size(sizeof(float) * kSearchedParts)));
using Doubles = double __attribute__((vector_size(sizeof(double) * kLanes)));

inline void widen(const Floats& x, Doubles (&y)[kHalves]) {
#if defined(__AVX__)  // without this, GCC converts the lanes in pairs
  y[0] = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
  y[1] = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
#else
  for (int i = 0; i < kSearchedParts; ++i) {
    y[i / kLanes][i % kLanes] = static_cast<double>(x[i]);
  }
#endif
}

// Vectors are no results: without AVX, functions that return them have no fixed interface.
inline void take_further(const Floats& x, Floats& furthest) {
  const Floats magnitude = x < 0.0F ? -x : x;
  furthest = magnitude > (furthest < 0.0F ? -furthest : furthest) ? x : furthest;
}

// Sets the nearest integers, ties to even, within a range of small numbers; `lowest` for NaN.
inline void round_within(const Floats& x, int lowest, int highest, Floats& y) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
  const Floats least = static_cast<float>(lowest) - Floats{};
  const Floats most = static_cast<float>(highest) - Floats{};
  const Floats raised = x > least ? x : least;
  y = ((raised < most ? raised : most) + kRound) - kRound;
}

// Values x of the parts and their weights w. Sums of products with numbers n are in the order of
// the values. A product of two floats and a number of 5 bits is exact in doubles: whether its sum
// is fused does not matter.
class PartSums {
 public:
  explicit PartSums(const SearchedParts& parts)
      : x_(reinterpret_cast<const Floats*>(parts.values)), size_(parts.size) {
    const auto* w = reinterpret_cast<const Floats*>(parts.weights);
    for (int i = 0; i < size_; ++i) {
      take_further(x_[i], furthest_);
      widen(w[i], w_[i]);
      widen(x_[i], wx_[i]);
      for (int half = 0; half < kHalves; ++half) {
        wx_[i][half] *= w_[i][half];
      }
    }
  }

  const Floats& furthest() const { return furthest_; }

  // Sets the sums of w x n and w n n, where n is inverse * x as a whole number.
  void add_up(const Floats& inverse, int count, Doubles (&wxn)[kHalves],
              Doubles (&wnn)[kHalves]) const {
    Doubles x_sums[kHalves] = {};
    Doubles n_sums[kHalves] = {};
    for (int i = 0; i < size_; ++i) {
      Floats whole;
      round_within(inverse * x_[i], -count, count - 1, whole);
      Doubles n[kHalves];
      widen(whole, n);
      for (int half = 0; half < kHalves; ++half) {
        x_sums[half] += wx_[i][half] * n[half];
        n_sums[half] += w_[i][half] * n[half] * n[half];
      }
    }
    for (int half = 0; half < kHalves; ++half) {
      wxn[half] = x_sums[half];
      wnn[half] = n_sums[half];
    }
  }

 private:
  const Floats* x_;
  int size_;
  Floats furthest_ = {};
  Doubles w_[kPartValues][kHalves];
  Doubles wx_[kPartValues][kHalves];
};

// The best steps of half the parts so far.
struct BestSteps {
  // Takes the least squares of numbers, if they are better.
  void compare(const Doubles& wxn, const Doubles& wnn) {
    const auto is_better = (wnn > 0.0) & (wxn * wxn > gain * wnn);
    step = is_better ? wxn / wnn : step;
    gain = is_better ? step * wxn : gain;
  }

  Doubles step = {};
  Doubles gain = {};  // by which the squared error is smaller than with a step of 0
};

void signed_steps(const SearchedParts& parts, const SignedTries& tries,
                  float (&steps)[kSearchedParts]) {
  const PartSums sums(parts);
  BestSteps best[kHalves];
  for (const float furthest : tries.furthest) {
    Doubles wxn[kHalves];
    Doubles wnn[kHalves];
    sums.add_up(-furthest / sums.furthest(), tries.count, wxn, wnn);
    for (int half = 0; half < kHalves; ++half) {
      best[half].compare(wxn[half], wnn[half]);
    }
  }
  for (int p = 0; p < kSearchedParts; ++p) {
    const bool has_step = __builtin_fabsf(sums.furthest()[p]) >= 1e-15F;
    steps[p] = has_step ? static_cast<float>(best[p / kLanes].step[p % kLanes]) : 0;
  }
}

}  // namespace

namespace HEADLIGHT_VARIANT {

const StepSearch kStepSearch = {.signed_steps = signed_steps};

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
