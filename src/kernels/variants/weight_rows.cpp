// Compiled once per instruction set, with the rules of loops.cpp.
#include "kernels/attention/weight_rows.h"

#include "kernels/variants/tables.h"
#include "kernels/variants/vector_math.h"

namespace headlight::kernels {
namespace {

constexpr Index kSums = 16;  // independent sums, so that they vectorise
// Numbers whose entropy is summed in float; the sums of blocks are added in double.
constexpr Index kBlock = 128;

// Logarithm for entropies: finite at 0, so that 0 log 0 is 0. A product with NaN stays NaN.
inline float bounded_log(float weight) {
  constexpr float kLeast = 0x1p-126F;
  return normal_log(weight < kLeast ? kLeast : weight);
}

template <class T>
inline double joined(const T (&sums)[kSums]) {
  double parts[4] = {};
  for (Index j = 0; j < kSums; j += 4) {
    for (Index part = 0; part < 4; ++part) {
      parts[part] += static_cast<double>(sums[j + part]);
    }
  }
  return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

// End of the block that begins at `begin` in a row of n; a multiple of kSums from `begin`.
inline Index block_end(Index begin, Index n) {
  const Index rest = (n - begin) / kSums * kSums;
  return begin + (rest < kBlock ? rest : kBlock);
}

WeightRowSums sums(const float* weights, Index n, float limit, double* columns) {
  double weight[kSums] = {};
  double distance[kSums] = {};
  double entropies = 0;
  float largest[kSums];
  std::int32_t below[kSums] = {};
  for (Index j = 0; j < kSums; ++j) {
    largest[j] = -__builtin_inff();
  }
  Index i = 0;
  while (n - i >= kSums) {
    float entropy[kSums] = {};
    for (const Index end = block_end(i, n); i < end; i += kSums) {
#pragma omp simd
      for (Index j = 0; j < kSums; ++j) {
        const float w = weights[i + j];
        const auto wide = static_cast<double>(w);
        weight[j] += wide;
        columns[i + j] += wide;
        distance[j] += wide * static_cast<double>(static_cast<std::int32_t>(n - 1 - i - j));
        entropy[j] -= w * bounded_log(w);
        largest[j] = w > largest[j] ? w : largest[j];
        below[j] += w < limit ? 1 : 0;
      }
    }
    entropies += joined(entropy);
  }
  for (; i < n; ++i) {
    const float w = weights[i];
    const auto wide = static_cast<double>(w);
    weight[0] += wide;
    columns[i] += wide;
    distance[0] += wide * static_cast<double>(n - 1 - i);
    entropies -= wide * static_cast<double>(bounded_log(w));
    largest[0] = w > largest[0] ? w : largest[0];
    below[0] += w < limit ? 1 : 0;
  }
  WeightRowSums result{joined(weight), joined(distance), entropies, largest[0], 0};
  for (Index j = 0; j < kSums; ++j) {
    result.largest = largest[j] > result.largest ? largest[j] : result.largest;
    result.below += below[j];
  }
  return result;
}

double middle_entropy(const float* a, const float* b, Index n) {
  double entropies = 0;
  Index i = 0;
  while (n - i >= kSums) {
    float entropy[kSums] = {};
    for (const Index end = block_end(i, n); i < end; i += kSums) {
#pragma omp simd
      for (Index j = 0; j < kSums; ++j) {
        const float w = (a[i + j] + b[i + j]) * 0.5F;
        entropy[j] -= w * bounded_log(w);
      }
    }
    entropies += joined(entropy);
  }
  for (; i < n; ++i) {
    const float w = (a[i] + b[i]) * 0.5F;
    entropies -= static_cast<double>(w) * static_cast<double>(bounded_log(w));
  }
  return entropies;
}

}  // namespace

namespace HEADLIGHT_VARIANT {

const WeightRowLoops kWeightRowLoops = {.sums = sums, .middle_entropy = middle_entropy};

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
