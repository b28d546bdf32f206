// Compiled once per instruction set, as loops.cpp is, and under the same rules.
#include "kernels/decode.h"

#include "kernels/variants/panels.h"
#include "kernels/variants/tables.h"
#include "kernels/variants/vector_math.h"

namespace headlight::kernels {
namespace {

// Vectors that meet panels together, more of them in groups.
constexpr Index kTogether = 16;

// One panel of float32 or bfloat16 with kBatch vectors.
template <class WordFormat>
struct Plain {
  using Format = WordFormat;
  // Of a stretch: what all vectors meet before the next columns do.
  static constexpr Index kColumns = 64;
  static constexpr Index kBytes = kColumns / Format::kColumns * kPanelRows * 4;

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

// A number that the compiler knows. The standard's is company of inline functions, which must not
// come into this file.
template <int kNumber>
struct Constant {
  static constexpr int value = kNumber;
};

// Calls body(Constant<n>, b) for tiles of n vectors, b being the first of each.
template <int kLargest, class Body>
void for_tiles(Index begin, Index end, const Body& body) {
  for (; begin + kLargest <= end; begin += kLargest) {
    body(Constant<kLargest>(), begin);
  }
  if constexpr (kLargest > 1) {
    for_tiles<kLargest / 2>(begin, end, body);
  }
}

// kPanels panels with up to kTogether vectors, stretch by stretch. The weights of a stretch are
// read and taken apart once, and stay in the first cache until all vectors have met them. Meanwhile
// the panels behind are asked for.
template <class Panel, int kPanels>
class PanelsTogether {
 public:
  PanelsTogether(const char* panels, const PanelProduct& product, const float* x, Index count)
      : panels_(panels), product_(product), x_(x), count_(count) {}

  void multiply(float* y) {
    for (Index k = 0; k < product_.columns; k += Panel::kColumns) {
      meet_stretch(k);
    }
    for (Index b = 0; b < count_; ++b) {
      for (int p = 0; p < kPanels; ++p) {
        join(sums_[b][p]);
        __builtin_memcpy(y + b * product_.y_stride + p * kPanelRows, &sums_[b][p][0],
                         sizeof(Lanes));
      }
    }
  }

 private:
  void meet_stretch(Index k) {
    const Index rest = product_.columns - k;
    const Index columns = rest < Panel::kColumns ? rest : Panel::kColumns;
    const Index offset = k / Panel::kColumns * Panel::kBytes;
    Lanes memory[kPanels][Panel::kColumns];
    const Lanes* floats[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      const char* words = panels_ + p * product_.panel_bytes + offset;
      floats[p] = floats_of<typename Panel::Format>(words, columns, memory[p]);
    }
    Ahead ahead = behind(offset);
    for_tiles<kTileVectors>(0, count_, [&](auto size, Index b) {
      for (int chain = 0; chain < kChains; ++chain) {
        add_tile<decltype(size)::value>(floats, k, columns, chain, b, ahead);
      }
    });
  }

  // The panels behind these; all tiles ask for as much. In the order of memory: two streams at a
  // time, one of each panel, took three times as long where pages are small.
  Ahead behind(Index offset) const {
    const Index tiles = (count_ + kTileVectors - 1) / kTileVectors;
    const char* from = panels_ + kPanels * (product_.panel_bytes + offset);
    return {from,
            (kPanels * Panel::kBytes + tiles * Panel::kColumns - 1) / (tiles * Panel::kColumns)};
  }

  template <int kBatch>
  void add_tile(const Lanes* const (&floats)[kPanels], Index k, Index columns, int chain, Index b,
                Ahead& ahead) {
    Lanes sums[kBatch][kPanels];
#pragma GCC unroll 8
    for (int i = 0; i < kBatch; ++i) {
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) {
        sums[i][p] = sums_[b + i][p][chain];
      }
    }
    add_chain(floats, columns, chain, x_ + b * product_.x_stride + k, product_.x_stride, sums,
              ahead);
#pragma GCC unroll 8
    for (int i = 0; i < kBatch; ++i) {
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) {
        sums_[b + i][p][chain] = sums[i][p];
      }
    }
  }

  const char* panels_;
  const PanelProduct& product_;
  const float* x_;
  Index count_;
  Lanes sums_[kTogether][kPanels][kChains] = {};
};

template <class Panel, int kPanels>
void multiply_together(Index panel, const PanelProduct& product) {
  const char* weights = static_cast<const char*>(product.panels) + panel * product.panel_bytes;
  for (Index b = 0; b < product.batch; b += kTogether) {
    const Index count = product.batch - b < kTogether ? product.batch - b : kTogether;
    PanelsTogether<Panel, kPanels>(weights, product, product.x + b * product.x_stride, count)
        .multiply(product.y + panel * kPanelRows + b * product.y_stride);
  }
}

// Tile by tile: each reads the weights anew, out of a cache but for the first.
template <class Panel>
void multiply_tiles(const PanelProduct& product) {
  for (Index panel = 0; panel < product.count; ++panel) {
    const char* weights = static_cast<const char*>(product.panels) + panel * product.panel_bytes;
    for_tiles<kLargestTile>(0, product.batch, [&](auto size, Index b) {
      Panel::template multiply<decltype(size)::value>(
          weights, product, product.x + b * product.x_stride,
          product.y + panel * kPanelRows + b * product.y_stride);
    });
  }
}

template <class Panel>
void multiply(const PanelProduct& product) {
  if (product.batch <= kLargestTile) {
    multiply_tiles<Panel>(product);
    return;
  }
  Index panel = 0;
  for (; panel + kTilePanels <= product.count; panel += kTilePanels) {
    multiply_together<Panel, kTilePanels>(panel, product);
  }
  for (; panel < product.count; ++panel) {
    multiply_together<Panel, 1>(panel, product);
  }
}

// Positions of the block that begins at position `begin`.
inline Index positions_of_block(const AttentionStep& step, Index begin) {
  const Index rest = step.length - begin;
  return rest < kAttentionBlock ? rest : kAttentionBlock;
}

// kWide times 16 columns of the values from d on, weighted; position t goes to sum t % kChains.
template <int kWide>
inline void add_values(const AttentionStep& step, Index d) {
  static_assert(kAttentionBlock % kChains == 0, "a block begins with the first sum");
  Lanes sums[kWide][kChains] = {};
  for (Index begin = 0; begin < step.length; begin += kAttentionBlock) {
    const float* values = step.blocks[begin / kAttentionBlock] + step.values + d;
    const float* scores = step.scores + begin;
    const auto add = [&](Index t, int chain) {
      for (int w = 0; w < kWide; ++w) {
        Lanes row;
        load(values + t * step.width + w * kPanelRows, row);
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
    __builtin_memcpy(step.output + d + w * kPanelRows, &sums[w][0], sizeof(Lanes));
  }
}

// output = sum over t of scores[t] values[t]
inline void add_values(const AttentionStep& step) {
  constexpr int kWide = kParts == 1 ? 4 : 1;  // what the registers hold
  const Index width = step.width;
  Index d = 0;
  for (; d + kWide * kPanelRows <= width; d += kWide * kPanelRows) {
    add_values<kWide>(step, d);
  }
  for (; d + kPanelRows <= width; d += kPanelRows) {
    add_values<1>(step, d);
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

inline float largest_of(const float* scores, Index count) {
  float largest = -__builtin_inff();
#pragma omp simd reduction(max : largest)
  for (Index t = 0; t < count; ++t) {
    largest = scores[t] > largest ? scores[t] : largest;
  }
  return largest;
}

// Gives the positions that are not seen scores whose weights are 0; returns the largest of the
// others.
inline float hide(const AttentionStep& step) {
  const float largest = largest_of(step.scores + step.hidden, step.length - step.hidden);
  for (Index t = 0; t < step.hidden; ++t) {
    step.scores[t] = largest - 1000.0F;
  }
  return largest;
}

// The sums of neighbouring lanes of a, then of b.
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

// Lane i is the sum over the lanes of rows[i].
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

// rows[i] += the products of key i with the query, from `keys` on; kWidth keys, or the `count`
// that are there.
inline void add_keys(const AttentionStep& step, const float* keys, Index count,
                     Vector (&rows)[kWidth]) {
  for (Index d = 0; d + kWidth <= step.width; d += kWidth) {
    const Vector query = load_vector(step.query + d);
    const float* key = keys + d;
    if (count == kWidth) {
#pragma GCC unroll 16
      for (int i = 0; i < kWidth; ++i, key += step.width) {
        rows[i] += query * load_vector(key);
      }
    } else {
      for (Index i = 0; i < count; ++i, key += step.width) {
        rows[i] += query * load_vector(key);
      }
    }
  }
}

// The scores of up to kWidth keys from `keys` on.
inline Vector scores_of(const AttentionStep& step, const float* keys, Index count) {
  Vector rows[kWidth] = {};
  add_keys(step, keys, count, rows);
  Vector scores = sums_of_rows(rows);
  for (Index d = step.width / kWidth * kWidth; d < step.width; ++d) {
    for (Index i = 0; i < count; ++i) {
      scores[i] += step.query[d] * keys[i * step.width + d];
    }
  }
  return scores * step.scale;
}

// Keeps the scores of all positions; returns the largest.
inline float keep_scores(const AttentionStep& step) {
  for (Index begin = 0; begin < step.length; begin += kAttentionBlock) {
    const float* keys = step.blocks[begin / kAttentionBlock] + step.keys;
    const Index count = positions_of_block(step, begin);
    for (Index t = 0; t < count; t += kWidth) {
      const Index rest = count - t < kWidth ? count - t : kWidth;
      const Vector scores = scores_of(step, keys + t * step.width, rest);
      __builtin_memcpy(step.scores + begin + t, &scores, static_cast<std::size_t>(rest) * 4);
    }
  }
  return largest_of(step.scores, step.length);
}

// Makes exponentials of kPanelRows scores and adds them to `sums`.
inline void add_exponentials(float* scores, float largest, float (&sums)[kPanelRows]) {
#pragma omp simd
  for (Index i = 0; i < kPanelRows; ++i) {
    scores[i] = fast_exp(scores[i] - largest);
    sums[i] += scores[i];
  }
}

// Makes exponentials of the scores; returns their sum. The last ones are computed together, too:
// one by one they would take longer than all others.
inline float exponentials(const AttentionStep& step, float largest) {
  float sums[kPanelRows] = {};
  const Index whole = step.length / kPanelRows * kPanelRows;
  for (Index t = 0; t < whole; t += kPanelRows) {
    add_exponentials(step.scores + t, largest, sums);
  }
  if (const Index rest = step.length - whole; rest > 0) {
    float last[kPanelRows];
    for (Index i = 0; i < kPanelRows; ++i) {
      last[i] = i < rest ? step.scores[whole + i] : largest - 1000.0F;
    }
    add_exponentials(last, largest, sums);
    __builtin_memcpy(step.scores + whole, last, static_cast<std::size_t>(rest) * 4);
  }
  float sum = 0;
  for (const float part : sums) {
    sum += part;
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
                                  .attend = attend,
                                  .attend_scores = attend_scores,
                                  .attend_weights = attend_weights,
                                  .attend_values = attend_values,
                                  .softmax_weights = softmax_weights};

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
