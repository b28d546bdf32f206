// Compiled once per instruction set, with the rules of loops.cpp, and once more for AVX-512 with
// VNNI, which adds up products of integers. Sums of integers are exact, so both give equal bits.
#include "kernels/panels/panels.h"

#include "kernels/variants/panels.h"
#include "kernels/variants/tables.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headlight::kernels {
namespace {

using Halves = std::int16_t __attribute__((vector_size(kVectorBytes)));

constexpr Index kTogether = 16;  // vectors of one pass over a panel
// Vectors of them whose sums stay in registers. If one register holds the sums of a panel, each
// pair of weights is read once for all vectors.
constexpr int kTile = kParts == 1 ? 16 : kTileVectors;
constexpr Index kStretch = 1024;         // columns per pass, for the first-level cache
constexpr int kPairs = kScaleBlock / 2;  // pairs of columns per block
constexpr Index kBlocks = kTogether * kStretch / kScaleBlock;  // blocks per pass
constexpr Index kBlockBytes = kPanelRows * (4 + kScaleBlock);
constexpr Index kAhead = 14;  // blocks to prefetch

inline Integers add_products(Halves a, Halves b, Integers sums) {
#if defined(__AVX512VNNI__)
  return reinterpret_cast<Integers>(_mm512_dpwssd_epi32(
      reinterpret_cast<__m512i>(sums), reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX512BW__)
  return sums + reinterpret_cast<Integers>(
                    _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return sums + reinterpret_cast<Integers>(
                    _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return sums + reinterpret_cast<Integers>(
                    _mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  const auto left = reinterpret_cast<Integers>(a);
  const auto right = reinterpret_cast<Integers>(b);
  return sums + (left << 16 >> 16) * (right << 16 >> 16) + (left >> 16) * (right >> 16);
#endif
}

// A stretch of up to kVectors vectors, rounded in blocks of 32 columns to scale * q. q is an int16
// and the scale a power of two: 2^-15 of the block's largest element, while the int8 weights keep
// 2^-8.
template <Index kVectors>
class Rounded {
 public:
  Rounded(const float* x, Index x_stride, Index count, Index columns) {
    for (Index b = 0; b < count; ++b) {
      for (Index k = 0; k < columns; k += kScaleBlock) {
        const Index rest = columns - k;
        const Index place = place_of(b, k / kScaleBlock);
        round_block(x + b * x_stride + k, rest < kScaleBlock ? rest : kScaleBlock, quanta_[place],
                    scales_[place]);
      }
    }
  }

  // [vectors from b on, 32] of a block
  const std::int16_t* quanta(Index b, Index block) const { return quanta_[place_of(b, block)]; }
  // [vectors from b on]
  const float* scales(Index b, Index block) const { return scales_ + place_of(b, block); }

 private:
  // Blocks are stored in reading order.
  static Index place_of(Index b, Index block) { return block * kVectors + b; }
  // Elements from `count` on become 0.
  static void round_block(const float* x, Index count, std::int16_t* quanta, float& scale) {
    std::uint32_t largest = 0;  // as bits, so that NaN compares above all numbers
    for (Index k = 0; k < count; ++k) {
      const std::uint32_t magnitude = __builtin_bit_cast(std::uint32_t, x[k]) & 0x7FFFFFFFU;
      largest = magnitude > largest ? magnitude : largest;
    }
    const std::uint32_t exponent = largest >> 23;
    if (exponent == 255) {
      scale = __builtin_nanf("");
      __builtin_memset(quanta, 0, kScaleBlock * sizeof *quanta);
      return;
    }
    constexpr std::uint32_t kBits = 14;  // bits of the largest value after its leading one
    const std::uint32_t limited = exponent > kBits ? exponent : kBits + 1;
    scale = __builtin_bit_cast(float, (limited - kBits) << 23);
    const float inverse = __builtin_bit_cast(float, (254 + kBits - limited) << 23);
    std::int32_t wide[kScaleBlock] = {};
    for (Index k = 0; k < count; ++k) {
      wide[k] = rounded(x[k] * inverse);
    }
    for (Index k = 0; k < kScaleBlock; ++k) {
      quanta[k] = static_cast<std::int16_t>(wide[k]);
    }
  }

  // Returns the integer nearest to x, ties to even, at most 32767. Takes it from the lowest bits of
  // x + 1.5 * 2^23.
  static std::int32_t rounded(float x) {
    constexpr float kRound = 12582912.0F;
    const std::int32_t whole =
        __builtin_bit_cast(std::int32_t, x + kRound) - __builtin_bit_cast(std::int32_t, kRound);
    return whole > 32767 ? 32767 : whole;
  }

  alignas(64) std::int16_t quanta_[kBlocks][kScaleBlock];
  float scales_[kBlocks];
};

// Returns a pair of adjacent columns in every lane.
inline Halves pair_at(const std::int16_t* quanta) {
  std::int32_t word;
  __builtin_memcpy(&word, quanta, sizeof word);
  return reinterpret_cast<Halves>(Integers{} + word);
}

constexpr int kWords = kPairs / 2;  // words of four weights in a row's block

// A word has columns 2 g and 2 g + 1 in its even bytes, and the columns 16 later in its odd bytes.
// Shifts therefore give pairs of adjacent columns.
inline Halves even_bytes(Vector words) { return reinterpret_cast<Halves>(words) << 8 >> 8; }
inline Halves odd_bytes(Vector words) { return reinterpret_cast<Halves>(words) >> 8; }

// Returns word g of a panel's block, after the block's scales.
inline Vector words_of(const char* block, int g, int part) {
  return load_vector(block + (1 + g) * kPanelRows * 4 + part * kVectorBytes);
}

// The blocks of a stretch in one panel; panel_bytes later is the same stretch of the next panel.
struct Stretch {
  const char* block(Index number) const { return first + number * kBlockBytes; }
  void ask_behind(Index number) const {
    const Index next = number + kAhead;
    const char* wanted = next < blocks ? block(next) : block(next - blocks) + panel_bytes;
    for (Index offset = 0; offset < kBlockBytes; offset += 64) {
      __builtin_prefetch(wanted + offset);
    }
  }

  const char* first;
  Index blocks;
  Index panel_bytes;
};

// total += scaled sums of a block.
inline void add_sums(const Integers (&sums)[kParts], const Lanes& scales, float scale,
                     Lanes& total) {
  for (int p = 0; p < kParts; ++p) {
    total.part[p] += __builtin_convertvector(sums[p], Vector) * (scales.part[p] * scale);
  }
}

// An unpacked block, for several vectors.
struct Block {
  explicit Block(const char* block) {
    load(block, scales);
    for (int g = 0; g < kWords; ++g) {
      for (int p = 0; p < kParts; ++p) {
        pairs[g][p] = even_bytes(words_of(block, g, p));
        pairs[kWords + g][p] = odd_bytes(words_of(block, g, p));
      }
    }
  }

  Lanes scales;
  Halves pairs[kPairs][kParts];
};

// Multiplies a block by kCount vectors. Unrolling the loop over pairs would spill its sums.
template <int kCount>
void add_block(const Block& block, const Rounded<kTogether>& x, Index number, Index first,
               Lanes* totals) {
  const std::int16_t* quanta = x.quanta(first, number);
  const float* scales = x.scales(first, number);
  Integers sums[kCount][kParts] = {};
#pragma GCC unroll 1
  for (int j = 0; j < kPairs; ++j) {
#pragma GCC unroll 16
    for (int b = 0; b < kCount; ++b) {
      const Halves pair = pair_at(quanta + b * kScaleBlock + 2 * j);
#pragma GCC unroll 4
      for (int p = 0; p < kParts; ++p) {
        sums[b][p] = add_products(block.pairs[j][p], pair, sums[b][p]);
      }
    }
  }
#pragma GCC unroll 16
  for (int b = 0; b < kCount; ++b) {
    add_sums(sums[b], block.scales, scales[b], totals[first + b]);
  }
}

void add_panel(const Stretch& weights, const Rounded<kTogether>& x, Index count, Lanes* totals) {
  for (Index number = 0; number < weights.blocks; ++number) {
    weights.ask_behind(number);
    const Block block(weights.block(number));
    for_tiles<kTile>(0, count, [&](auto size, Index first) {
      add_block<decltype(size)::value>(block, x, number, first, totals);
    });
  }
}

// Multiplies by one vector, unpacking each block as it is used.
void add_panel(const Stretch& weights, const Rounded<1>& x, Index, Lanes* totals) {
  Lanes result = totals[0];
  for (Index number = 0; number < weights.blocks; ++number) {
    const char* block = weights.block(number);
    weights.ask_behind(number);
    const std::int16_t* quanta = x.quanta(0, number);
    Integers even[kParts] = {};
    Integers odd[kParts] = {};
    for (int g = 0; g < kWords; ++g) {
      for (int p = 0; p < kParts; ++p) {
        const Vector words = words_of(block, g, p);
        even[p] = add_products(even_bytes(words), pair_at(quanta + 2 * g), even[p]);
        odd[p] = add_products(odd_bytes(words), pair_at(quanta + 2 * (kWords + g)), odd[p]);
      }
    }
    for (int p = 0; p < kParts; ++p) {
      even[p] += odd[p];
    }
    Lanes scales;
    load(block, scales);
    add_sums(even, scales, *x.scales(0, number), result);
  }
  totals[0] = result;
}

constexpr Index columns_of_stretch(Index vectors) { return kTogether * kStretch / vectors; }

// Multiplies columns k ... of up to kVectors vectors b ... by all panels. For k > 0 it adds to y.
template <Index kVectors>
void multiply_stretch(const PanelProduct& product, Index b, Index k) {
  constexpr Index kColumns = columns_of_stretch(kVectors);
  const Index vectors = product.batch - b < kVectors ? product.batch - b : kVectors;
  const Index columns = product.columns - k < kColumns ? product.columns - k : kColumns;
  const Rounded<kVectors> x(product.x + b * product.x_stride + k, product.x_stride, vectors,
                            columns);
  Stretch weights{.first = static_cast<const char*>(product.panels) + k / kScaleBlock * kBlockBytes,
                  .blocks = (columns + kScaleBlock - 1) / kScaleBlock,
                  .panel_bytes = product.panel_bytes};
  for (Index i = 0; i < product.count; ++i, weights.first += product.panel_bytes) {
    float* y = product.y + b * product.y_stride + i * kPanelRows;
    Lanes totals[kVectors] = {};
    for (Index v = 0; v < vectors && k > 0; ++v) {
      load(y + v * product.y_stride, totals[v]);
    }
    add_panel(weights, x, vectors, totals);
    for (Index v = 0; v < vectors; ++v) {
      store(totals[v], y + v * product.y_stride);
    }
  }
}

// Multiplies each stretch of columns by all vectors before it reads the next stretch.
template <Index kVectors>
void multiply_all(const PanelProduct& product) {
  for (Index k = 0; k < product.columns; k += columns_of_stretch(kVectors)) {
    for (Index b = 0; b < product.batch; b += kVectors) {
      multiply_stretch<kVectors>(product, b, k);
    }
  }
}

// A single vector multiplies whole panels in memory order.
void multiply(const PanelProduct& product) {
  product.batch == 1 ? multiply_all<1>(product) : multiply_all<kTogether>(product);
}

}  // namespace

namespace HEADLIGHT_VARIANT {

const Int8Panels kInt8Panels = {.multiply = multiply};

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
