// Compiled once per instruction set, with the rules of loops.cpp.
#include "kernels/attention/weight_rows.h"

#include "kernels/variants/tables.h"
#include "kernels/variants/vector_math.h"

namespace headlight::kernels {
namespace {

constexpr Index kSums = 8;  // independent sums, so that they vectorise

// Logarithm for entropies: finite at 0, so that 0 log 0 is 0.
inline float bounded_log(float weight) {
  constexpr float kLeast = 0x1p-126F;
  return fast_log(weight < kLeast ? kLeast : weight);
}

inline double joined(const double (&sums)[kSums]) {
  double sum = 0;
  for (Index j = 0; j < kSums; ++j) {
    sum += sums[j];
  }
  return sum;
}

WeightRowSums sums(const float* weights, Index n, float limit) {
  double weight[kSums] = {};
  double distance[kSums] = {};
  double entropy[kSums] = {};
  float largest[kSums];
  std::int32_t below[kSums] = {};
  for (Index j = 0; j < kSums; ++j) {
    largest[j] = -__builtin_inff();
  }
  Index i = 0;
  for (; i + kSums <= n; i += kSums) {
#pragma omp simd
    for (Index j = 0; j < kSums; ++j) {
      const float w = weights[i + j];
      const auto wide = static_cast<double>(w);
      weight[j] += wide;
      distance[j] += wide * static_cast<double>(static_cast<std::int32_t>(n - 1 - i - j));
      entropy[j] -= wide * static_cast<double>(bounded_log(w));
      largest[j] = w > largest[j] ? w : largest[j];
      below[j] += w < limit ? 1 : 0;
    }
  }
  for (; i < n; ++i) {
    const float w = weights[i];
    const auto wide = static_cast<double>(w);
    weight[0] += wide;
    distance[0] += wide * static_cast<double>(n - 1 - i);
    entropy[0] -= wide * static_cast<double>(bounded_log(w));
    largest[0] = w > largest[0] ? w : largest[0];
    below[0] += w < limit ? 1 : 0;
  }
  WeightRowSums result{joined(weight), joined(distance), joined(entropy), largest[0], 0};
  for (Index j = 0; j < kSums; ++j) {
    result.largest = largest[j] > result.largest ? largest[j] : result.largest;
    result.below += below[j];
  }
  return result;
}

double middle_entropy(const float* a, const float* b, Index n) {
  double entropy[kSums] = {};
  Index i = 0;
  for (; i + kSums <= n; i += kSums) {
#pragma omp simd
    for (Index j = 0; j < kSums; ++j) {
      const float w = (a[i + j] + b[i + j]) * 0.5F;
      entropy[j] -= static_cast<double>(w) * static_cast<double>(bounded_log(w));
    }
  }
  for (; i < n; ++i) {
    const float w = (a[i] + b[i]) * 0.5F;
    entropy[0] -= static_cast<double>(w) * static_cast<double>(bounded_log(w));
  }
  return joined(entropy);
}

}  // namespace

namespace HEADLIGHT_VARIANT {

const WeightRowLoops kWeightRowLoops = {.sums = sums, .middle_entropy = middle_entropy};

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
