// Compiled once per instruction set, with the rules of loops.cpp.
#include "kernels/attention/attention_step.h"

#include "kernels/variants/panels.h"
#include "kernels/variants/tables.h"
#include "kernels/variants/vector_math.h"

namespace headlight::kernels {
namespace {

// The upper half of a float.
struct Bfloat16 {
  std::uint16_t bits;
};

using HalfWords = std::uint16_t __attribute__((vector_size(kVectorBytes / 2)));

inline float float_at(const float* from) { return *from; }
inline float float_at(const Bfloat16* from) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(from->bits) << 16);
}

inline Vector floats_at(const float* from) { return load_vector(from); }
inline Vector floats_at(const Bfloat16* from) {
  HalfWords halves;
  __builtin_memcpy(&halves, from, sizeof halves);
  return reinterpret_cast<Vector>(__builtin_convertvector(halves, Words) << 16);
}

// Returns the elements of a block from an offset on.
template <class Element>
inline const Element* elements(const AttentionStep& step, Index begin, Index offset) {
  return static_cast<const Element*>(step.blocks[begin / kAttentionBlock]) + offset;
}

// Returns the number of positions in the block that starts at position `begin`.
inline Index positions_of_block(const AttentionStep& step, Index begin) {
  const Index rest = step.length - begin;
  return rest < kAttentionBlock ? rest : kAttentionBlock;
}

// Sums 16 * kWide columns of the weighted values from column d on, with kChains sums per column.
template <class Element, int kWide>
inline void add_values(const AttentionStep& step, Index d) {
  static_assert(kAttentionBlock % kChains == 0, "a block begins with the first sum");
  Lanes sums[kWide][kChains] = {};
  for (Index begin = 0; begin < step.length; begin += kAttentionBlock) {
    const Element* values = elements<Element>(step, begin, step.values + d);
    const float* scores = step.scores + begin;
    const auto add = [&](Index t, int chain) {
      for (int w = 0; w < kWide; ++w) {
        Lanes row;
        for (int p = 0; p < kParts; ++p) {
          row.part[p] = floats_at(values + t * step.width + w * kPanelRows + p * kWidth);
        }
        add_product(row, scores[t], sums[w][chain]);
      }
    };
    const Index count = positions_of_block(step, begin);
    Index t = 0;
    for (; t + kChains <= count; t += kChains) {
      for (int c = 0; c < kChains; ++c) {
        add(t + c, c);
      }
    }
    for (int c = 0; t < count; ++t, ++c) {
      add(t, c);
    }
  }
  for (int w = 0; w < kWide; ++w) {
    join(sums[w]);
    store(sums[w][0], step.output + d + w * kPanelRows);
  }
}

// output = sum over t of scores[t] values[t]
template <class Element>
inline void add_values(const AttentionStep& step) {
  constexpr int kWide = kParts == 1 ? 4 : 1;  // accumulators that fit the registers
  const Index width = step.width;
  Index d = 0;
  for (; d + kWide * kPanelRows <= width; d += kWide * kPanelRows) {
    add_values<Element, kWide>(step, d);
  }
  for (; d + kPanelRows <= width; d += kPanelRows) {
    add_values<Element, 1>(step, d);
  }
  for (; d < width; ++d) {
    float sum = 0;
    for (Index t = 0; t < step.length; ++t) {
      const Element* values = elements<Element>(step, t, step.values);
      sum += step.scores[t] * float_at(values + t % kAttentionBlock * width + d);
    }
    step.output[d] = sum;
  }
}

inline float largest_of(const float* scores, Index count) {
  Vector largest = Vector{} - __builtin_inff();
  Index t = 0;
  for (; t + kWidth <= count; t += kWidth) {
    const Vector some = load_vector(scores + t);
    largest = some > largest ? some : largest;
  }
  float result = -__builtin_inff();
  for (int i = 0; i < kWidth; ++i) {
    result = largest[i] > result ? largest[i] : result;
  }
  for (; t < count; ++t) {
    result = scores[t] > result ? scores[t] : result;
  }
  return result;
}

// Sets the scores of hidden positions so that their weights are 0. Returns the largest other score.
inline float hide(const AttentionStep& step) {
  const float largest = largest_of(step.scores + step.hidden, step.length - step.hidden);
  for (Index t = 0; t < step.hidden; ++t) {
    step.scores[t] = largest - 1000.0F;
  }
  return largest;
}

// Sums of adjacent lanes, first of a, then of b.
template <int... kLane>
struct Neighbours {
  static Vector sums(Vector a, Vector b) {
    return __builtin_shufflevector(a, b, (2 * kLane)...) +
           __builtin_shufflevector(a, b, (2 * kLane + 1)...);
  }
};
template <int kCount, int... kLane>
struct MakeNeighbours : MakeNeighbours<kCount - 1, kCount - 1, kLane...> {};
template <int... kLane>
struct MakeNeighbours<0, kLane...> : Neighbours<kLane...> {};

// Returns a vector whose lane i is the sum over the lanes of rows[i].
inline Vector sums_of_rows(Vector (&rows)[kWidth]) {
#pragma GCC unroll 4
  for (int count = kWidth / 2; count > 0; count /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < count; ++i) {
      rows[i] = MakeNeighbours<kWidth>::sums(rows[2 * i], rows[2 * i + 1]);
    }
  }
  return rows[0];
}

// rows[i] += products of key i with the query, for keys from `keys` on. If `count` < kWidth, the
// last key fills the remaining rows: a variable row count would not keep the rows in registers.
template <class Element>
inline void add_keys(const AttentionStep& step, const Element* keys, Index count,
                     Vector (&rows)[kWidth]) {
  const Index last = count - 1;
  for (Index d = 0; d + kWidth <= step.width; d += kWidth) {
    const Vector query = load_vector(step.query + d);
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) {
      const Index key = i < last ? i : last;
      rows[i] += query * floats_at(keys + key * step.width + d);
    }
  }
}

// Returns the scores of up to kWidth keys from `keys` on.
template <class Element>
inline Vector scores_of(const AttentionStep& step, const Element* keys, Index count) {
  Vector rows[kWidth] = {};
  add_keys(step, keys, count, rows);
  Vector scores = sums_of_rows(rows);
  for (Index d = step.width / kWidth * kWidth; d < step.width; ++d) {
    for (Index i = 0; i < count; ++i) {
      scores[i] += step.query[d] * float_at(keys + i * step.width + d);
    }
  }
  return scores * step.scale;
}

// Stores the scores of all positions.
template <class Element>
inline void keep_scores(const AttentionStep& step) {
  for (Index begin = 0; begin < step.length; begin += kAttentionBlock) {
    const Element* keys = elements<Element>(step, begin, step.keys);
    const Index count = positions_of_block(step, begin);
    for (Index t = 0; t < count; t += kWidth) {
      const Index rest = count - t < kWidth ? count - t : kWidth;
      const Vector scores = scores_of(step, keys + t * step.width, rest);
      __builtin_memcpy(step.scores + begin + t, &scores, static_cast<std::size_t>(rest) * 4);
    }
  }
}

// Replaces `count` scores by exponentials; returns their sum. Not inlined: with a constant count
// Clang would not vectorise it.
__attribute__((noinline)) float exponentials(float* scores, Index count, float largest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index t = 0; t < count; ++t) {
    scores[t] = fast_exp(scores[t] - largest);
    sum += scores[t];
  }
  return sum;
}

// Replaces the scores by exponentials; returns their sum. Pads the last scores to a whole vector:
// one by one they would take longer than all others.
inline float exponentials(const AttentionStep& step, float largest) {
  const Index whole = step.length / kPanelRows * kPanelRows;
  const Index rest = step.length - whole;
  float sum = exponentials(step.scores, whole, largest);
  if (rest > 0) {
    float last[kPanelRows];
    for (Index i = 0; i < kPanelRows; ++i) {
      last[i] = i < rest ? step.scores[whole + i] : largest - 1000.0F;
    }
    sum += exponentials(last, kPanelRows, largest);
    __builtin_memcpy(step.scores + whole, last, static_cast<std::size_t>(rest) * 4);
  }
  return sum;
}

inline void soft_cap(float cap, float* scores, Index n) {
#pragma omp simd
  for (Index t = 0; t < n; ++t) {
    scores[t] = cap * fast_tanh(scores[t] / cap);
  }
}

inline void scale(float* x, Index n, float factor) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    x[i] *= factor;
  }
}

template <class Element>
void attend(const AttentionStep& step) {
  keep_scores<Element>(step);
  if (step.cap > 0) {
    soft_cap(step.cap, step.scores, step.length);
  }
  const float largest = hide(step);
  const float sum = exponentials(step, largest);
  add_values<Element>(step);
  scale(step.output, step.width, 1.0F / sum);
}

void attend_any(const AttentionStep& step) {
  step.bfloat16 ? attend<Bfloat16>(step) : attend<float>(step);
}

}  // namespace

namespace HEADLIGHT_VARIANT {

const AttentionSteps kAttentionSteps = {.attend = attend_any};

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
