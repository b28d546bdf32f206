// Compiled once per instruction set, with the rules of loops.cpp.
#include "kernels/panels/panels.h"

#include "kernels/variants/half_floats.h"
#include "kernels/variants/panels.h"
#include "kernels/variants/tables.h"

namespace headlight::kernels {
namespace {

// Vectors of one pass over a panel; larger batches take several passes.
constexpr Index kTogether = 16;

// Columns per stretch, the part of a panel that PanelsTogether multiplies by all vectors at once.
constexpr Index kStretch = 128;
// Panels multiplied at once. Weights that are unpacked first do better with two.
template <class Format>
constexpr int kPanelsOf = Format::kColumns > 1 && kTilePanels > 2 ? 2 : kTilePanels;
template <class Format>
constexpr Index kStretchBytes = 4 * kPanelRows* kStretch / Format::kColumns;

// Multiplies one panel by kBatch vectors.
template <class Format, int kBatch>
void multiply_tile(const char* panel, const PanelProduct& product, const float* x, float* y) {
  Lanes sums[kBatch][kChains] = {};
  add_columns<Format, kBatch>(panel, product.columns, x, product.x_stride, sums);
  for (int b = 0; b < kBatch; ++b) {
    join(sums[b]);
    store(sums[b][0], y + b * product.y_stride);
  }
}

// Multiplies kPanels panels by up to kTogether vectors, one stretch of columns at a time. A stretch
// is read and unpacked once and stays in the first-level cache for all vectors. Meanwhile the next
// panels are prefetched.
template <class Format, int kPanels>
class PanelsTogether {
 public:
  PanelsTogether(const char* panels, const PanelProduct& product, const float* x, Index count)
      : panels_(panels), product_(product), x_(x), count_(count) {}

  void multiply(float* y) {
    for (Index k = 0; k < product_.columns; k += kStretch) {
      meet_stretch(k);
    }
    for (Index b = 0; b < count_; ++b) {
      for (int p = 0; p < kPanels; ++p) {
        join(sums_[b][p]);
        store(sums_[b][p][0], y + b * product_.y_stride + p * kPanelRows);
      }
    }
  }

 private:
  void meet_stretch(Index k) {
    const Index rest = product_.columns - k;
    const Index columns = rest < kStretch ? rest : kStretch;
    const Index offset = k / kStretch * kStretchBytes<Format>;
    Lanes memory[kPanels][kStretch];
    const Lanes* floats[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      const char* words = panels_ + p * product_.panel_bytes + offset;
      floats[p] = floats_of<Format>(words, columns, memory[p]);
    }
    Ahead ahead = behind(offset);
    for_tiles<kTileVectors>(0, count_, [&](auto size, Index b) {
      for (int chain = 0; chain < kChains; ++chain) {
        add_tile<decltype(size)::value>(floats, k, columns, chain, b, ahead);
      }
    });
  }

  // Prefetches the next panels, an equal amount per tile, in memory order. Two streams at a time,
  // one per panel, took three times as long with small pages.
  Ahead behind(Index offset) const {
    const Index rest = count_ % kTileVectors;  // for_tiles() takes a tile for each of its bits
    const Index tiles = count_ / kTileVectors + __builtin_popcountll(static_cast<unsigned>(rest));
    const char* from = panels_ + kPanels * (product_.panel_bytes + offset);
    const Index prefetches = 3 * tiles * kStretch;
    return {from, (kPanels * kStretchBytes<Format> + prefetches - 1) / prefetches};
  }

  template <int kBatch>
  void add_tile(const Lanes* const (&floats)[kPanels], Index k, Index columns, int chain, Index b,
                Ahead& ahead) {
    Lanes sums[kBatch][kPanels];
#pragma GCC unroll 8
    for (int i = 0; i < kBatch; ++i) {
#pragma GCC unroll 3
      for (int p = 0; p < kPanels; ++p) {
        sums[i][p] = sums_[b + i][p][chain];
      }
    }
    add_chain(floats, columns, chain, x_ + b * product_.x_stride + k, product_.x_stride, sums,
              ahead);
#pragma GCC unroll 8
    for (int i = 0; i < kBatch; ++i) {
#pragma GCC unroll 3
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

template <class Format, int kPanels>
void multiply_together(Index panel, const PanelProduct& product) {
  const char* weights = static_cast<const char*>(product.panels) + panel * product.panel_bytes;
  for (Index b = 0; b < product.batch; b += kTogether) {
    const Index count = product.batch - b < kTogether ? product.batch - b : kTogether;
    PanelsTogether<Format, kPanels>(weights, product, product.x + b * product.x_stride, count)
        .multiply(product.y + panel * kPanelRows + b * product.y_stride);
  }
}

// Multiplies tile by tile; only the first tile reads the weights from memory.
template <class Format>
void multiply_tiles(const PanelProduct& product) {
  for (Index panel = 0; panel < product.count; ++panel) {
    const char* weights = static_cast<const char*>(product.panels) + panel * product.panel_bytes;
    for_tiles<kLargestTile>(0, product.batch, [&](auto size, Index b) {
      multiply_tile<Format, decltype(size)::value>(
          weights, product, product.x + b * product.x_stride,
          product.y + panel * kPanelRows + b * product.y_stride);
    });
  }
}

template <class Format>
void multiply(const PanelProduct& product) {
  if (product.batch <= kLargestTile) {
    multiply_tiles<Format>(product);
    return;
  }
  Index panel = 0;
  constexpr int kPanels = kPanelsOf<Format>;
  for (; panel + kPanels <= product.count; panel += kPanels) {
    multiply_together<Format, kPanels>(panel, product);
  }
  for (; panel < product.count; ++panel) {
    multiply_together<Format, 1>(panel, product);
  }
}

// exp(x) for x <= 0, as in fast_exp, with a polynomial of degree 12; 0 below the range.
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

// Returns the largest of some scores; infinity if one is NaN or infinity.
inline float largest_score(const float* scores, Index n) {
  constexpr float kInfinity = __builtin_inff();
  const Vector infinity = Vector{} + kInfinity;
  Vector largest = -infinity;
  Index i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const Vector some = load_vector(scores + i);
    const Vector bounded = some < infinity ? some : infinity;
    largest = bounded > largest ? bounded : largest;
  }
  float best = -kInfinity;
  for (int lane = 0; lane < kWidth; ++lane) {
    best = largest[lane] > best ? largest[lane] : best;
  }
  for (; i < n; ++i) {
    const float bounded = scores[i] < kInfinity ? scores[i] : kInfinity;
    best = bounded > best ? bounded : best;
  }
  return best;
}

Index likeliest(const float* scores, Index n) {
  constexpr Index kChunk = 1024;  // scores of which only one chunk is read again
  constexpr float kInfinity = __builtin_inff();
  float best = -kInfinity;
  Index index = 0;
  for (Index i = 0; i < n; i += kChunk) {
    const float largest = largest_score(scores + i, n - i < kChunk ? n - i : kChunk);
    if (largest > best) {
      best = largest;
      index = i;
    }
  }
  if (best == kInfinity || best == -kInfinity) {
    return -1;
  }
  while (scores[index] != best) {
    ++index;
  }
  return index;
}

// Converts a vector at a time; the last one may be shorter.
template <class FromVector, class ToVector, ToVector (*kConvert)(FromVector), class From, class To>
void convert_all(const From* x, To* y, Index n) {
  Index i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    FromVector from;
    __builtin_memcpy(&from, x + i, sizeof from);
    const ToVector to = kConvert(from);
    __builtin_memcpy(y + i, &to, sizeof to);
  }
  const auto rest = static_cast<std::size_t>(n - i);
  FromVector from = {};
  __builtin_memcpy(&from, x + i, rest * sizeof(From));
  const ToVector to = kConvert(from);
  __builtin_memcpy(y + i, &to, rest * sizeof(To));
}

void to_float16(const float* x, std::uint16_t* y, Index n) {
  convert_all<Vector, HalfWords, halves_of_floats>(x, y, n);
}

void from_float16(const std::uint16_t* x, float* y, Index n) {
  convert_all<HalfWords, Vector, floats_of_halves>(x, y, n);
}

}  // namespace

namespace HEADLIGHT_VARIANT {

const DecodeLoops kDecodeLoops = {.multiply_float32 = multiply<Float32>,
                                  .multiply_bfloat16 = multiply<PairOfBFloat16>,
                                  .softmax_weights = softmax_weights,
                                  .likeliest = likeliest,
                                  .to_float16 = to_float16,
                                  .from_float16 = from_float16};

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
