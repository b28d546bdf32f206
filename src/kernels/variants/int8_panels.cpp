// Compiled once per instruction set, as loops.cpp is, under the same rules; and once more for CPUs
// whose AVX-512 adds up products of integers (VNNI). Sums of integers are exact, so both give the
// same bits.
#include "kernels/panels/panels.h"

#include "kernels/variants/panels.h"
#include "kernels/variants/tables.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headlight::kernels {
namespace {

using Halves = std::int16_t __attribute__((vector_size(kVectorBytes)));

constexpr Index kTogether = 16;  // vectors that meet a panel together
// Of them, those whose sums stay in registers: where one register holds the sums of a panel, a pair
// of weights that is read once for all of them costs the least.
constexpr int kTile = kParts == 1 ? 16 : kTileVectors;
constexpr Index kStretch = 1024;                   // columns that meet them: the first cache
constexpr int kPairs = kScaleBlock / 2;            // of columns, in a block
constexpr Index kBlocks = kStretch / kScaleBlock;  // of a stretch
constexpr Index kBlockBytes = kPanelRows * (4 + kScaleBlock);
constexpr Index kAhead = 8192;  // bytes: with 16 vectors a block takes longer than with one

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

// A stretch of some vectors, each block of 32 columns as scale * q: q is a whole number of 16 bits,
// the scale a power of two. That is 2^-15 of the block's largest, where its weights keep 2^-8.
class Rounded {
 public:
  Rounded(const float* x, Index x_stride, Index count, Index columns) {
    for (Index b = 0; b < count; ++b) {
      for (Index k = 0; k < columns; k += kScaleBlock) {
        const Index rest = columns - k;
        const Index block = k / kScaleBlock;
        round_block(x + b * x_stride + k, rest < kScaleBlock ? rest : kScaleBlock,
                    quanta_[block][b], scales_[block][b]);
      }
    }
  }

  // Columns 2 j and 2 j + 1 of a block in every lane.
  Halves pair(Index b, Index block, int j) const {
    std::int32_t word;
    __builtin_memcpy(&word, quanta_[block][b] + 2 * j, sizeof word);
    return reinterpret_cast<Halves>(Integers{} + word);
  }
  float scale(Index b, Index block) const { return scales_[block][b]; }

 private:
  // What lies behind `count` columns becomes 0.
  static void round_block(const float* x, Index count, std::int16_t* quanta, float& scale) {
    std::uint32_t largest = 0;  // as bits, so that what is no number is larger than numbers
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
    constexpr std::uint32_t kBits = 14;  // of the largest, before its first one
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

  // To nearest, ties to even: the lowest bits of x + 1.5 * 2^23.
  static std::int32_t rounded(float x) {
    constexpr float kRound = 12582912.0F;
    const std::int32_t whole =
        __builtin_bit_cast(std::int32_t, x + kRound) - __builtin_bit_cast(std::int32_t, kRound);
    return whole > 32767 ? 32767 : whole;
  }

  // Block by block, as they are read.
  alignas(64) std::int16_t quanta_[kBlocks][kTogether][kScaleBlock];
  float scales_[kBlocks][kTogether];
};

constexpr int kWords = kPairs / 2;  // of four weights, in a row's block

// A word has columns 2 g and 2 g + 1 in its even bytes and 16 columns on in its odd ones, so that
// shifts make pairs of neighbours of them.
inline Halves even_bytes(Vector words) { return reinterpret_cast<Halves>(words) << 8 >> 8; }
inline Halves odd_bytes(Vector words) { return reinterpret_cast<Halves>(words) >> 8; }

// The words of a panel's block lie behind its scales.
inline Vector words_of(const char* block, int g, int part) {
  return load_vector(block + (1 + g) * kPanelRows * 4 + part * kVectorBytes);
}

inline void prefetch_block(const char* block) {
  for (Index offset = 0; offset < kBlockBytes; offset += 64) {
    __builtin_prefetch(block + offset);
  }
}

// total += the sums of a block of columns, scaled.
inline void add_sums(const Integers (&sums)[kParts], const Lanes& scales, float scale,
                     Lanes& total) {
  for (int p = 0; p < kParts; ++p) {
    total.part[p] += __builtin_convertvector(sums[p], Vector) * (scales.part[p] * scale);
  }
}

// A block taken apart, for several vectors.
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

// kCount vectors with a block. The loop over pairs stays one: unrolled, its sums leave registers.
template <int kCount>
void add_block(const Block& block, const Rounded& x, Index number, Index first, Lanes* totals) {
  Integers sums[kCount][kParts] = {};
#pragma GCC unroll 1
  for (int j = 0; j < kPairs; ++j) {
#pragma GCC unroll 16
    for (int b = 0; b < kCount; ++b) {
      const Halves pair = x.pair(first + b, number, j);
#pragma GCC unroll 4
      for (int p = 0; p < kParts; ++p) {
        sums[b][p] = add_products(block.pairs[j][p], pair, sums[b][p]);
      }
    }
  }
#pragma GCC unroll 16
  for (int b = 0; b < kCount; ++b) {
    add_sums(sums[b], block.scales, x.scale(first + b, number), totals[first + b]);
  }
}

void add_panel(const char* panel, const Rounded& x, Index blocks, Index count, Lanes* totals) {
  for (Index number = 0; number < blocks; ++number) {
    prefetch_block(panel + number * kBlockBytes + kAhead);
    const Block block(panel + number * kBlockBytes);
    for_tiles<kTile>(0, count, [&](auto size, Index first) {
      add_block<decltype(size)::value>(block, x, number, first, totals);
    });
  }
}

// For one vector, a block is taken apart as it is used.
void add_panel_to_one(const char* panel, const Rounded& x, Index blocks, Lanes& total) {
  Lanes result = total;
  for (Index number = 0; number < blocks; ++number) {
    const char* block = panel + number * kBlockBytes;
    prefetch_block(block + kAhead);
    Integers even[kParts] = {};
    Integers odd[kParts] = {};
    for (int g = 0; g < kWords; ++g) {
      for (int p = 0; p < kParts; ++p) {
        const Vector words = words_of(block, g, p);
        even[p] = add_products(even_bytes(words), x.pair(0, number, g), even[p]);
        odd[p] = add_products(odd_bytes(words), x.pair(0, number, kWords + g), odd[p]);
      }
    }
    for (int p = 0; p < kParts; ++p) {
      even[p] += odd[p];
    }
    Lanes scales;
    load(block, scales);
    add_sums(even, scales, x.scale(0, number), result);
  }
  total = result;
}

// Columns k ... of vectors b ... with all panels; later columns add to what earlier ones left in y.
void multiply_stretch(const PanelProduct& product, Index b, Index k) {
  const Index vectors = product.batch - b < kTogether ? product.batch - b : kTogether;
  const Index columns = product.columns - k < kStretch ? product.columns - k : kStretch;
  const Rounded x(product.x + b * product.x_stride + k, product.x_stride, vectors, columns);
  const Index blocks = (columns + kScaleBlock - 1) / kScaleBlock;
  const char* panel = static_cast<const char*>(product.panels) + k / kScaleBlock * kBlockBytes;
  for (Index i = 0; i < product.count; ++i, panel += product.panel_bytes) {
    float* y = product.y + b * product.y_stride + i * kPanelRows;
    Lanes totals[kTogether] = {};
    for (Index v = 0; v < vectors && k > 0; ++v) {
      load(y + v * product.y_stride, totals[v]);
    }
    if (vectors == 1) {
      add_panel_to_one(panel, x, blocks, totals[0]);
    } else {
      add_panel(panel, x, blocks, vectors, totals);
    }
    for (Index v = 0; v < vectors; ++v) {
      store(totals[v], y + v * product.y_stride);
    }
  }
}

void multiply(const PanelProduct& product) {
  for (Index b = 0; b < product.batch; b += kTogether) {
    for (Index k = 0; k < product.columns; k += kStretch) {
      multiply_stretch(product, b, k);
    }
  }
}

}  // namespace

namespace HEADLIGHT_VARIANT {

const Int8Panels kInt8Panels = {.multiply = multiply};

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
