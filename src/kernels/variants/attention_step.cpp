// Compiled once per instruction set, with the rules of loops.cpp.
#include "kernels/attention/attention_step.h"

#include "kernels/variants/half_floats.h"
#include "kernels/variants/panels.h"
#include "kernels/variants/tables.h"
#include "kernels/variants/vector_math.h"

namespace headlight::kernels {
namespace {

// The upper half of a float.
struct Bfloat16 {
  std::uint16_t bits;
};

struct Float16 {
  std::uint16_t bits;
};

// A number whose scale is that of its position.
struct Int8 {
  std::int8_t number;
};

using HalfIntegers = std::int16_t __attribute__((vector_size(kVectorBytes / 2)));
using QuarterIntegers = std::int8_t __attribute__((vector_size(kVectorBytes / 4)));

inline float float_at(const float* from) { return *from; }
inline float float_at(const Bfloat16* from) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(from->bits) << 16);
}
inline float float_at(const Float16* from) { return floats_of_halves(HalfWords{from->bits})[0]; }
inline float float_at(const Int8* from) { return static_cast<float>(from->number); }

inline Vector floats_at(const float* from) { return load_vector(from); }
inline Vector floats_at(const Bfloat16* from) {
  HalfWords halves;
  __builtin_memcpy(&halves, from, sizeof halves);
  return reinterpret_cast<Vector>(__builtin_convertvector(halves, Words) << 16);
}
inline Vector floats_at(const Float16* from) { return floats_of_halves(from); }
inline Vector floats_at(const Int8* from) {
  QuarterIntegers numbers;
  __builtin_memcpy(&numbers, from, sizeof numbers);
  // In steps of twice the width: GCC 12 converts other widths one by one.
  const HalfIntegers halves = __builtin_convertvector(numbers, HalfIntegers);
  return __builtin_convertvector(__builtin_convertvector(halves, Integers), Vector);
}

// Returns `count` <= kWidth floats and zeros.
template <class Element>
inline Vector first_floats(const Element* from, Index count) {
  float padded[kWidth] = {};
  for (Index i = 0; i < count; ++i) {
    padded[i] = float_at(from + i);
  }
  return load_vector(padded);
}

// Query heads that share the loads of keys and values in registers.
constexpr int kHeadTile = kVectorBytes == 16 ? 1 : 2;
// Query heads whose scores of a block are kept together.
constexpr Index kHeadsTogether = 16;
// Independent sums of weighted values: position t goes to sum t % kSums.
constexpr int kSums = 2;
constexpr float kInfinity = __builtin_inff();

// The part of a step that reads one block of keys and values.
template <class Element>
struct Block {
  const AttentionStep& step;
  const Element* keys;       // [kAttentionBlock, D]
  const Element* values;     // [kAttentionBlock, D]
  const Element* next_keys;  // for prefetching
  Index next_count;          // their positions
  Index count;               // positions
  Index hidden;              // positions at the start that the queries do not see
};

// Returns the scales of the positions behind keys or values; null for elements without scales.
template <class Element>
inline const float* scales_of(const Block<Element>& block, const Element* elements) {
  if constexpr (__is_same(Element, Int8)) {
    return reinterpret_cast<const float*>(elements + kAttentionBlock * block.step.width);
  }
  return nullptr;
}

// Multiplies numbers of positions by the positions' scales.
inline void scale_positions(const float* scales, Index count, float* numbers) {
#pragma omp simd
  for (Index t = 0; t < count; ++t) {
    numbers[t] *= scales[t];
  }
}

// Scores and weights of up to kHeadsTogether query heads for the positions of a block.
struct BlockScores {
  float of[kHeadsTogether][kAttentionBlock];
  float decay[kHeadsTogether];  // factors of the sums so far
};

template <class Element>
[[gnu::always_inline]] inline void prefetch(const Element* from, Index count) {
  const auto* bytes = reinterpret_cast<const char*>(from);
  for (Index i = 0; i < count * static_cast<Index>(sizeof(Element)); i += 64) {
    __builtin_prefetch(bytes + i);
  }
}

// Prefetches the next keys in `steps` equal pieces.
template <class Element>
struct KeysAhead {
  KeysAhead(const Block<Element>& block, Index steps)
      : next(reinterpret_cast<const char*>(block.next_keys)),
        lines(block.next_count * block.step.width * static_cast<Index>(sizeof(Element)) / 64),
        lines_of_step((lines + steps - 1) / steps) {}

  [[gnu::always_inline]] void prefetch() {
    const Index count = lines < lines_of_step ? lines : lines_of_step;
    for (Index line = 0; line < count; ++line) {
      __builtin_prefetch(next + 64 * line);
    }
    next += 64 * count;
    lines -= count;
  }

  const char* next;
  Index lines;  // left
  Index lines_of_step;
};

// The sums of one query head in memory.
struct AttentionSums {
  float* values;   // [D]
  float* largest;  // score
  float* weights;
};

inline AttentionSums sums_of(const AttentionStep& step, Index head) {
  float* start = step.sums + head * step.sums_stride;
  return {start, start + step.width, start + step.width + 1};
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

// Returns the scores of kHeads query heads for `count` <= kWidth / kHeads keys, all of the first
// head first. The last key fills missing ones: a variable number would not keep the sums in
// registers. Every score is the same sum for any kHeads.
template <int kHeads, class Element>
inline Vector scores_of(const AttentionStep& step, const float* queries, const Element* keys,
                        Index count) {
  constexpr int kKeys = kWidth / kHeads;
  const Index width = step.width;
  const Index last = count - 1;
  Vector rows[kWidth] = {};
  for (Index d = 0; d + kWidth <= width; d += kWidth) {
    Vector query[kHeads];
    for (int h = 0; h < kHeads; ++h) {
      query[h] = load_vector(queries + h * width + d);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kKeys; ++i) {
      const Vector key = floats_at(keys + (i < last ? i : last) * width + d);
#pragma GCC unroll 2
      for (int h = 0; h < kHeads; ++h) {
        rows[h * kKeys + i] += query[h] * key;
      }
    }
  }
  Vector scores = sums_of_rows(rows);
  for (Index d = width / kWidth * kWidth; d < width; ++d) {
    for (Index i = 0; i < count; ++i) {
      for (int h = 0; h < kHeads; ++h) {
        scores[h * kKeys + i] += queries[h * width + d] * float_at(keys + i * width + d);
      }
    }
  }
  return scores * step.scale;
}

// Stores the scores of `heads` query heads from `first` on. Meanwhile prefetches the values.
template <class Element>
inline void keep_scores(const Block<Element>& block, Index first, Index heads,
                        BlockScores& scores) {
  const Index width = block.step.width;
  const float* queries = block.step.queries + first * width;
  for (Index begin = 0; begin < block.count; begin += kWidth) {
    if (first == 0) {
      prefetch(block.values + begin * width, kWidth * width);
    }
    for_tiles<kHeadTile>(0, heads, [&](auto size, Index head) {
      constexpr int kHeads = decltype(size)::value;
      constexpr int kKeys = kWidth / kHeads;
      for (Index t = begin; t < begin + kWidth && t < block.count; t += kKeys) {
        const Index rest = block.count - t < kKeys ? block.count - t : kKeys;
        const Vector some =
            scores_of<kHeads>(block.step, queries + head * width, block.keys + t * width, rest);
        for (int h = 0; h < kHeads; ++h) {
          __builtin_memcpy(scores.of[head + h] + t,
                           reinterpret_cast<const float*>(&some) + h * kKeys, kKeys * 4);
        }
      }
    });
  }
}

inline float largest_of(const float (&scores)[kAttentionBlock]) {
  Vector largest = Vector{} - kInfinity;
  for (Index t = 0; t < kAttentionBlock; t += kWidth) {
    const Vector some = load_vector(scores + t);
    largest = some > largest ? some : largest;
  }
  float result = -kInfinity;
  for (int i = 0; i < kWidth; ++i) {
    result = largest[i] > result ? largest[i] : result;
  }
  return result;
}

// Replaces `count` scores by exponentials; returns their sum. Not inlined: with a constant count
// Clang would not vectorise it.
__attribute__((noinline)) float exponentials(float* scores, Index count, float largest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index t = 0; t < count; ++t) {
    scores[t] = softmax_exp(scores[t] - largest);
    sum += scores[t];
  }
  return sum;
}

inline void soft_cap(float cap, float* scores, Index n) {
#pragma omp simd
  for (Index t = 0; t < n; ++t) {
    scores[t] = cap * fast_tanh(scores[t] / cap);
  }
}

// Replaces the scores of a head by weights exp(score - largest so far). Returns the factor of the
// sums so far, whose largest score may have been smaller.
template <class Element>
inline float weigh(const Block<Element>& block, float (&scores)[kAttentionBlock],
                   const AttentionSums& sums) {
  if (block.step.cap > 0) {
    soft_cap(block.step.cap, scores, block.count);
  }
  for (Index t = 0; t < block.hidden; ++t) {
    scores[t] = -kInfinity;
  }
  for (Index t = block.count; t < kAttentionBlock; ++t) {
    scores[t] = -kInfinity;
  }
  const float before = *sums.largest;
  const float here = largest_of(scores);
  const float largest = here > before ? here : before;
  const float decay = softmax_exp(before - largest);
  *sums.largest = largest;
  *sums.weights = *sums.weights * decay + exponentials(scores, kAttentionBlock, largest);
  return decay;
}

// Adds 16 * kWide columns of the weighted values from column d on to the sums of kHeads heads.
template <int kHeads, int kWide, class Element>
inline void add_columns_of_values(const Block<Element>& block, Index first, Index head, Index d,
                                  const BlockScores& scores) {
  const Index width = block.step.width;
  const Element* values = block.values + d;
  const bool leads = first + head + d == 0;  // prefetches the next keys for all
  KeysAhead<Element> ahead(block, (block.count + kSums - 1) / kSums);
  Lanes sums[kHeads][kWide][kSums] = {};
  const auto add = [&](Index t, int chain) {
#pragma GCC unroll 4
    for (int w = 0; w < kWide; ++w) {
      Lanes row;
      for (int p = 0; p < kParts; ++p) {
        row.part[p] = floats_at(values + t * width + w * kPanelRows + p * kWidth);
      }
#pragma GCC unroll 3
      for (int h = 0; h < kHeads; ++h) {
        add_product(row, scores.of[head + h][t], sums[h][w][chain]);
      }
    }
  };
  Index t = 0;
  for (; t + kSums <= block.count; t += kSums) {
    if (leads) {
      ahead.prefetch();
    }
#pragma GCC unroll 2
    for (int c = 0; c < kSums; ++c) {
      add(t + c, c);
    }
  }
  if (t < block.count) {
    if (leads) {
      ahead.prefetch();
    }
    add(t, 0);
  }
  for (int h = 0; h < kHeads; ++h) {
    float* to = sums_of(block.step, first + head + h).values + d;
    for (int w = 0; w < kWide; ++w) {
      Lanes so_far;
      load(to + w * kPanelRows, so_far);
      for (int p = 0; p < kParts; ++p) {
        so_far.part[p] = so_far.part[p] * scores.decay[head + h] +
                         (sums[h][w][0].part[p] + sums[h][w][1].part[p]);
      }
      store(so_far, to + w * kPanelRows);
    }
  }
}

// Adds up to kWidth columns of the weighted values from column d on, as a vector: compilers round
// scalar sums in different ways.
template <int kHeads, class Element>
inline void add_last_columns(const Block<Element>& block, Index first, Index head, Index d,
                             const BlockScores& scores) {
  const Index width = block.step.width;
  const Index count = width - d < kWidth ? width - d : kWidth;
  Vector sums[kHeads] = {};
  for (Index t = 0; t < block.count; ++t) {
    const Vector row = first_floats(block.values + t * width + d, count);
    for (int h = 0; h < kHeads; ++h) {
      sums[h] += row * scores.of[head + h][t];
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    float* to = sums_of(block.step, first + head + h).values + d;
    const Vector sum = first_floats(to, count) * scores.decay[head + h] + sums[h];
    __builtin_memcpy(to, &sum, static_cast<std::size_t>(count) * 4);
  }
}

// values = decay values + sum over t of weights[t] values[t], for kHeads heads.
template <int kHeads, class Element>
inline void add_values(const Block<Element>& block, Index first, Index head,
                       const BlockScores& scores) {
  constexpr int kWide = kParts == 1 ? 4 : 1;  // accumulators that fit the registers
  const Index width = block.step.width;
  Index d = 0;
  for (; d + kWide * kPanelRows <= width; d += kWide * kPanelRows) {
    add_columns_of_values<kHeads, kWide>(block, first, head, d, scores);
  }
  for (; d + kPanelRows <= width; d += kPanelRows) {
    add_columns_of_values<kHeads, 1>(block, first, head, d, scores);
  }
  for (; d < width; d += kWidth) {
    add_last_columns<kHeads>(block, first, head, d, scores);
  }
}

// Calls body(Constant<n>, head) for tiles of heads whose weighted values fit the registers.
template <class Body>
inline void for_head_tiles(Index heads, const Body& body) {
  Index head = 0;
  if constexpr (kVectorBytes == 64) {
    for (; heads - head == 3 || heads - head >= 5; head += 3) {
      body(Constant<3>(), head);
    }
  }
  for_tiles<kHeadTile>(head, heads, body);
}

template <class Element>
void attend_block(const Block<Element>& block) {
  BlockScores scores;
  for (Index first = 0; first < block.step.heads; first += kHeadsTogether) {
    const Index rest = block.step.heads - first;
    const Index heads = rest < kHeadsTogether ? rest : kHeadsTogether;
    keep_scores(block, first, heads, scores);
    for (Index head = 0; head < heads; ++head) {
      float(&of_head)[kAttentionBlock] = scores.of[head];
      if (const float* scales = scales_of(block, block.keys)) {
        scale_positions(scales, block.count, of_head);
      }
      scores.decay[head] = weigh(block, of_head, sums_of(block.step, first + head));
      if (const float* scales = scales_of(block, block.values)) {
        scale_positions(scales, block.count, of_head);
      }
    }
    for_head_tiles(heads, [&](auto size, Index head) {
      add_values<decltype(size)::value>(block, first, head, scores);
    });
  }
}

template <class Element>
void attend(const AttentionStep& step) {
  for (Index head = 0; head < step.heads; ++head) {
    const AttentionSums sums = sums_of(step, head);
    for (Index d = 0; d < step.width; ++d) {
      sums.values[d] = 0;
    }
    *sums.largest = -kInfinity;
    *sums.weights = 0;
  }
  for (Index begin = 0; begin < step.length; begin += kAttentionBlock) {
    const void* const* memory = step.blocks + begin / kAttentionBlock;
    const Index rest = step.length - begin;
    const auto at = [&](const void* start, Index offset) {
      return static_cast<const Element*>(start) + offset;
    };
    const bool has_next = rest > kAttentionBlock;
    const Index next_rest = rest - kAttentionBlock;
    const NextKeys next =
        !has_next ? step.next
                  : NextKeys{.block = memory[1],
                             .keys = step.keys,
                             .count = next_rest < kAttentionBlock ? next_rest : kAttentionBlock};
    attend_block<Element>({.step = step,
                           .keys = at(*memory, step.keys),
                           .values = at(*memory, step.values),
                           .next_keys = at(next.block, next.keys),
                           .next_count = next.count,
                           .count = rest < kAttentionBlock ? rest : kAttentionBlock,
                           .hidden = begin == 0 ? step.hidden : 0});
  }
}

void attend_any(const AttentionStep& step) {
  switch (step.type) {
    case CacheType::float32:
      return attend<float>(step);
    case CacheType::bfloat16:
      return attend<Bfloat16>(step);
    case CacheType::float16:
      return attend<Float16>(step);
    case CacheType::int8:
      return attend<Int8>(step);
  }
}

// Adds the sums of `count` parts of the context, in order.
void merge(const float* parts, Index count, Index width, float* output) {
  const Index size = attention_sums(width);
  float largest = -kInfinity;
  for (Index i = 0; i < count; ++i) {
    const float here = parts[i * size + width];
    largest = here > largest ? here : largest;
  }
  for (Index d = 0; d < width; ++d) {
    output[d] = 0;
  }
  float weights = 0;
  for (Index i = 0; i < count; ++i) {
    const float* part = parts + i * size;
    const float factor = softmax_exp(part[width] - largest);
    weights += factor * part[width + 1];
#pragma omp simd
    for (Index d = 0; d < width; ++d) {
      output[d] += factor * part[d];
    }
  }
  const float share = 1.0F / weights;
#pragma omp simd
  for (Index d = 0; d < width; ++d) {
    output[d] *= share;
  }
}

}  // namespace

namespace HEADLIGHT_VARIANT {

const AttentionSteps kAttentionSteps = {.attend = attend_any, .merge = merge};

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
