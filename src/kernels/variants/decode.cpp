// Compiled once per instruction set, as loops.cpp is, and under the same rules.
#include "kernels/decode.h"

#include "kernels/variants/panels.h"
#include "kernels/variants/tables.h"
#include "kernels/variants/vector_math.h"

namespace headlight::kernels {
namespace {

// One panel of float32 or bfloat16 with kBatch vectors.
template <class Format>
struct Plain {
  template <int kBatch>
  static void multiply(const char* panel, const PanelProduct& product, const float* x, float* y) {
    Lanes sums[kBatch][kChains];
    clear(sums);
    add_columns<Format, kBatch>(panel, product.columns, x, product.x_stride, sums);
    for (int b = 0; b < kBatch; ++b) {
      join(sums[b]);
      __builtin_memcpy(y + b * product.y_stride, &sums[b][0], sizeof(Lanes));
    }
  }
};

// One panel of int8: the sums of every block of columns are multiplied by the block's scales.
struct Scaled {
  template <int kBatch>
  static void multiply(const char* panel, const PanelProduct& product, const float* x, float* y) {
    Lanes totals[kBatch];
    for (int b = 0; b < kBatch; ++b) {
      clear(totals[b]);
    }
    for (Index k = 0; k < product.columns; k += kScaleBlock) {
      const Index columns = product.columns - k < kScaleBlock ? product.columns - k : kScaleBlock;
      Lanes scales;
      load(panel, scales);
      panel += sizeof(Lanes);
      Lanes sums[kBatch][kChains];
      clear(sums);
      add_columns<FourInt8, kBatch>(panel, columns, x + k, product.x_stride, sums);
      panel += kScaleBlock * kPanelRows;
      for (int b = 0; b < kBatch; ++b) {
        join(sums[b]);
        add_product(sums[b][0], scales, totals[b]);
      }
    }
    for (int b = 0; b < kBatch; ++b) {
      __builtin_memcpy(y + b * product.y_stride, &totals[b], sizeof(Lanes));
    }
  }
};

// The vectors tile by tile against one panel, which stays in the cache meanwhile.
template <class Panel>
void multiply(const PanelProduct& product) {
  for (Index panel = 0; panel < product.count; ++panel) {
    const char* weights = static_cast<const char*>(product.panels) + panel * product.panel_bytes;
    float* y = product.y + panel * kPanelRows;
    Index b = 0;
    for (; b + kLargestTile <= product.batch; b += kLargestTile) {
      Panel::template multiply<kLargestTile>(weights, product, product.x + b * product.x_stride,
                                             y + b * product.y_stride);
    }
    for (; b < product.batch; ++b) {
      Panel::template multiply<1>(weights, product, product.x + b * product.x_stride,
                                  y + b * product.y_stride);
    }
  }
}

inline float dot(const float* a, const float* b, Index n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index i = 0; i < n; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

// Positions of the block that begins at position `begin`.
inline Index positions_of_block(const AttentionStep& step, Index begin) {
  const Index rest = step.length - begin;
  return rest < kAttentionBlock ? rest : kAttentionBlock;
}

// Columns d ... d + 15 of the values, weighted; position t goes to sum t % kChains.
inline void add_values(const AttentionStep& step, Index d, Lanes (&sums)[kChains]) {
  static_assert(kAttentionBlock % kChains == 0, "a block begins with the first sum");
  for (Index begin = 0; begin < step.length; begin += kAttentionBlock) {
    const float* values = step.blocks[begin / kAttentionBlock] + step.values + d;
    const float* scores = step.scores + begin;
    const Index count = positions_of_block(step, begin);
    Index t = 0;
    for (; t + kChains <= count; t += kChains) {
      for (int c = 0; c < kChains; ++c) {
        Lanes row;
        load(values + (t + c) * step.width, row);
        add_product(row, scores[t + c], sums[c]);
      }
    }
    for (int c = 0; t < count; ++t, ++c) {
      Lanes row;
      load(values + t * step.width, row);
      add_product(row, scores[t], sums[c]);
    }
  }
}

// output = sum over t of scores[t] values[t]
inline void add_values(const AttentionStep& step) {
  const Index width = step.width;
  Index d = 0;
  for (; d + kPanelRows <= width; d += kPanelRows) {
    Lanes sums[kChains];
    for (int c = 0; c < kChains; ++c) {
      clear(sums[c]);
    }
    add_values(step, d, sums);
    join(sums);
    __builtin_memcpy(step.output + d, &sums[0], sizeof(Lanes));
  }
  for (; d < width; ++d) {
    float sum = 0;
    for (Index t = 0; t < step.length; ++t) {
      const float* values = step.blocks[t / kAttentionBlock] + step.values;
      sum += step.scores[t] * values[t % kAttentionBlock * width + d];
    }
    step.output[d] = sum;
  }
}

// Gives the positions that are not seen scores whose weights are 0; returns the largest of the
// others.
inline float hide(const AttentionStep& step) {
  float largest = -__builtin_inff();
  for (Index t = step.hidden; t < step.length; ++t) {
    largest = step.scores[t] > largest ? step.scores[t] : largest;
  }
  for (Index t = 0; t < step.hidden; ++t) {
    step.scores[t] = largest - 1000.0F;
  }
  return largest;
}

// Keeps the scores of all positions; returns the largest.
inline float keep_scores(const AttentionStep& step) {
  float largest = -__builtin_inff();
  for (Index begin = 0; begin < step.length; begin += kAttentionBlock) {
    const float* keys = step.blocks[begin / kAttentionBlock] + step.keys;
    for (Index t = 0; t < positions_of_block(step, begin); ++t) {
      const float score = step.scale * dot(step.query, keys + t * step.width, step.width);
      step.scores[begin + t] = score;
      largest = score > largest ? score : largest;
    }
  }
  return largest;
}

// Makes exponentials of the scores; returns their sum.
inline float exponentials(const AttentionStep& step, float largest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index t = 0; t < step.length; ++t) {
    const float weight = fast_exp(step.scores[t] - largest);
    step.scores[t] = weight;
    sum += weight;
  }
  return sum;
}

inline void scale(float* x, Index n, float factor) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    x[i] *= factor;
  }
}

void attend(const AttentionStep& step) {
  float largest = keep_scores(step);
  if (step.hidden > 0) {
    largest = hide(step);
  }
  const float sum = exponentials(step, largest);
  add_values(step);
  scale(step.output, step.width, 1.0F / sum);
}

void attend_scores(const AttentionStep& step) {
  keep_scores(step);
  for (Index t = 0; t < step.hidden; ++t) {
    step.scores[t] = -__builtin_inff();
  }
}

void attend_weights(const AttentionStep& step) {
  const float sum = exponentials(step, hide(step));
  scale(step.scores, step.length, 1.0F / sum);
}

void attend_values(const AttentionStep& step) { add_values(step); }

// exp(x) for x <= 0, as fast_exp is, with a polynomial of degree 12; 0 below the range.
inline double exp_of_negative(double x) {
  constexpr double kLog2E = 1.4426950408889634074;
  constexpr double kHighPart = 6.93147180369123816490e-1;
  constexpr double kLowPart = 1.90821492927058770002e-10;
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  constexpr double kLowest = -708.0;
  const double limited = x < kLowest ? kLowest : x;
  const double shifted = limited * kLog2E + kRound;
  const double n = shifted - kRound;
  const double r = (limited - n * kHighPart) - n * kLowPart;
  double p = 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r * r + r;
  p = p + 1.0;
  const std::int64_t exponent =
      __builtin_bit_cast(std::int64_t, shifted) - __builtin_bit_cast(std::int64_t, kRound);
  const double power = __builtin_bit_cast(double, (exponent + 1023) << 52);
  return x < kLowest ? 0.0 : p * power;
}

double softmax_weights(const double* scores, double largest, double temperature, double* weights,
                       Index n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index i = 0; i < n; ++i) {
    const double weight = exp_of_negative((scores[i] - largest) / temperature);
    weights[i] = weight;
    sum += weight;
  }
  return sum;
}

}  // namespace

namespace HEADLIGHT_VARIANT {

const DecodeLoops kDecodeLoops = {.multiply_float32 = multiply<Plain<Float32>>,
                                  .multiply_bfloat16 = multiply<Plain<PairOfBFloat16>>,
                                  .multiply_int8 = multiply<Scaled>,
                                  .attend = attend,
                                  .attend_scores = attend_scores,
                                  .attend_weights = attend_weights,
                                  .attend_values = attend_values,
                                  .softmax_weights = softmax_weights};

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
