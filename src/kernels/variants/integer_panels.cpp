// Compiled once per instruction set, with the rules of loops.cpp, and once more for AVX-512 with
// VNNI, which adds up products of integers. Sums of integers are exact, so both give equal bits.
#include "kernels/panels/integer_panels.h"

#include "kernels/panels/panels.h"
#include "kernels/variants/panels.h"
#include "kernels/variants/tables.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

namespace headlight::kernels {
namespace {

using Halves = std::int16_t __attribute__((vector_size(kVectorBytes)));
using UnsignedHalves = std::uint16_t __attribute__((vector_size(kVectorBytes)));
using Float16s = std::uint16_t __attribute__((vector_size(kVectorBytes / 2)));
using Bytes = std::int8_t __attribute__((vector_size(kVectorBytes / 4)));

constexpr Index kTogether = 16;  // vectors of one pass over a panel
// Vectors of them whose sums stay in registers. If one register holds the sums of a panel, each
// pair of weights is read once for all vectors.
constexpr int kTile = kParts == 1 ? 16 : kTileVectors;
constexpr Index kStretch = 1024;         // columns per pass, for the first-level cache
constexpr int kPairs = kScaleBlock / 2;  // pairs of columns per block
constexpr Index kBlocks = kTogether * kStretch / kScaleBlock;  // blocks per pass
constexpr Index kPlaneBytes = kPanelRows * 4;                  // for each bit
constexpr Index kAhead = 14;                                   // blocks to prefetch

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
#elif defined(__wasm_simd128__)
  return sums + reinterpret_cast<Integers>(
                    wasm_i32x4_dot_i16x8(reinterpret_cast<v128_t>(a), reinterpret_cast<v128_t>(b)));
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
        for (Index half = 0; half < 2; ++half) {
          sums_[place][half] = sum_of_half(quanta_[place] + half * kScaleBlock / 2);
        }
      }
    }
  }

  // [vectors from b on, 32] of a block
  const std::int16_t* quanta(Index b, Index block) const { return quanta_[place_of(b, block)]; }
  // [vectors from b on]
  const float* scales(Index b, Index block) const { return scales_ + place_of(b, block); }
  // Returns the sum of the elements of a group, one of 1 or 2 in a block.
  template <int kGroups>
  std::int32_t sum(Index b, Index block, int group) const {
    const std::int32_t* halves = sums_[place_of(b, block)];
    return kGroups == 2 ? halves[group] : halves[0] + halves[1];
  }

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

  static std::int32_t sum_of_half(const std::int16_t* quanta) {
    std::int32_t sum = 0;
    for (Index k = 0; k < kScaleBlock / 2; ++k) {
      sum += quanta[k];
    }
    return sum;
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
  std::int32_t sums_[kBlocks][2];  // of the halves of each block
};

// Returns a pair of adjacent columns in every lane.
inline Halves pair_at(const std::int16_t* quanta) {
  std::int32_t word;
  __builtin_memcpy(&word, quanta, sizeof word);
  return reinterpret_cast<Halves>(Integers{} + word);
}

#if defined(__AVX512F__)
// GCC 12 warns about intrinsics without a mask: they leave a register undefined.
constexpr __mmask16 kAll = 0xFFFF;
#endif

#if defined(__wasm_simd128__)
inline Halves looked_up(UnsignedHalves places) {
  const UnsignedHalves pairs = places | std::uint16_t{0x8000};  // gives 0 in the upper bytes
  return reinterpret_cast<Halves>(
      wasm_i8x16_swizzle(wasm_v128_load(kUnevenNumbers), reinterpret_cast<v128_t>(pairs)));
}
#elif !defined(__SSSE3__)
inline Halves looked_up(UnsignedHalves places) {
  Halves numbers;
  for (int i = 0; i < kVectorBytes / 2; ++i) {
    numbers[i] = kUnevenNumbers[places[i]];
  }
  return numbers;
}
#else
// Looks up pairs of bytes; the upper byte of a place has its highest bit set, which gives 0.
inline Halves looked_up(UnsignedHalves places) {
  const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kUnevenNumbers));
  const UnsignedHalves pairs = places | std::uint16_t{0x8000};
#if defined(__AVX512BW__)
  return reinterpret_cast<Halves>(_mm512_shuffle_epi8(_mm512_maskz_broadcast_i32x4(kAll, table),
                                                      reinterpret_cast<__m512i>(pairs)));
#elif defined(__AVX2__)
  return reinterpret_cast<Halves>(
      _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), reinterpret_cast<__m256i>(pairs)));
#else
  return reinterpret_cast<Halves>(_mm_shuffle_epi8(table, reinterpret_cast<__m128i>(pairs)));
#endif
}
#endif

// Numbers of a layout with these bits; see IntegerLayout.
template <int kLowBits, int kHighBits, int kGroupCount, bool kUneven = false>
struct Numbers {
  static constexpr int kGroups = kGroupCount;

  // Returns kBits bits of a pair of columns, from the first word of a plane on.
  template <int kBits>
  static UnsignedHalves bits_of(const char* plane, int pair, int part) {
    constexpr int kPairsOfWord = 16 / kBits;
    const Vector words =
        load_vector(plane + pair / kPairsOfWord * kPlaneBytes + part * kVectorBytes);
    const UnsignedHalves halves = reinterpret_cast<UnsignedHalves>(words);
    const int place = pair % kPairsOfWord;
    const UnsignedHalves shifted =
        place == 0 ? halves : halves >> static_cast<std::uint16_t>(kBits * place);
    return place == kPairsOfWord - 1 ? shifted
                                     : shifted & static_cast<std::uint16_t>((1 << kBits) - 1);
  }

  // Returns the numbers of a pair of columns.
  static Halves pair(const char* planes, int number, int part) {
    UnsignedHalves numbers = bits_of<kLowBits>(planes, number, part);
    if constexpr (kHighBits > 0) {
      numbers |= bits_of<kHighBits>(planes + kLowBits * kPlaneBytes, number, part)
                 << static_cast<std::uint16_t>(kLowBits);
    }
    if constexpr (kUneven) {
      return looked_up(numbers);
    }
    return reinterpret_cast<Halves>(numbers);
  }
};

// Converts finite float16 numbers.
inline Vector floats_of_halves(const char* from) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector>(
      _mm512_maskz_cvtph_ps(kAll, _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(from))));
#elif defined(__F16C__)
  return reinterpret_cast<Vector>(
      _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from))));
#else
  Float16s halves;
  __builtin_memcpy(&halves, from, sizeof halves);
  const Words words = __builtin_convertvector(halves, Words);
  constexpr float kRebias = 5.192296858534828e33F;  // 2^(127 - 15): the exponents differ by this
  const Vector magnitudes = reinterpret_cast<Vector>((words & 0x7FFFU) << 13) * kRebias;
  return reinterpret_cast<Vector>(reinterpret_cast<Words>(magnitudes) | (words & 0x8000U) << 16);
#endif
}

inline Vector floats_of_bytes(const char* from) {
  Bytes bytes;
  __builtin_memcpy(&bytes, from, sizeof bytes);
  return __builtin_convertvector(__builtin_convertvector(bytes, Integers), Vector);
}

// Steps and least values of a block.
template <int kGroups>
struct Steps {
  Steps(const IntegerLayout& layout, const char* header, const char* block) {
    for (int p = 0; p < kParts; ++p) {
      const Index values = p * kWidth;  // before this part
      const Vector whole_step = layout.steps == StepKind::float32
                                    ? load_vector(header + 4 * values)
                                    : floats_of_halves(header + 2 * values);
      Vector whole_least = {};
      if (layout.has_least) {
        whole_least = floats_of_halves(header + 2 * (kPanelRows + values));
      }
      for (int g = 0; g < kGroups; ++g) {
        step[g].part[p] = whole_step;
        least[g].part[p] = whole_least;
        if (layout.steps == StepKind::bytes) {
          step[g].part[p] *= floats_of_bytes(block + g * kPanelRows + values);
        }
        if (layout.steps == StepKind::bytes && layout.has_least) {
          least[g].part[p] *= floats_of_bytes(block + (kGroups + g) * kPanelRows + values);
        }
      }
    }
  }

  // total += the products of a group. `sums` are those of numbers - offset with x / scale, x_sum is
  // the sum of x / scale.
  void add_to(Lanes& total, const Integers (&sums)[kParts], int group, float scale,
              std::int32_t x_sum, bool has_least) const {
    for (int p = 0; p < kParts; ++p) {
      total.part[p] += __builtin_convertvector(sums[p], Vector) * (step[group].part[p] * scale);
    }
    if (has_least) {
      add_product(least[group], static_cast<float>(x_sum) * scale, total);
    }
  }

  Lanes step[kGroups];
  Lanes least[kGroups];
};

// The blocks of a stretch in one panel; panel_bytes later is the same stretch of the next panel.
struct Stretch {
  const char* header(Index number) const {
    return first + (number >> layout.span_shift) * layout.span_bytes;
  }
  const char* block(Index number) const {
    const Index in_span = number & ((Index{1} << layout.span_shift) - 1);
    return header(number) + layout.header_bytes + in_span * layout.block_bytes;
  }
  void ask_behind(Index number) const {
    const Index next = number + kAhead;
    const char* wanted = next < blocks ? block(next) : block(next - blocks) + panel_bytes;
    for (Index offset = 0; offset < layout.block_bytes; offset += 64) {
      __builtin_prefetch(wanted + offset);
    }
  }

  const IntegerLayout& layout;
  const char* first;
  Index blocks;
  Index panel_bytes;
};

// An unpacked block, for several vectors.
template <int kGroups>
struct Block {
  Block(const Stretch& weights, Index number)
      : steps(weights.layout, weights.header(number), weights.block(number)) {}

  template <class Format>
  void unpack(const char* planes) {
#pragma GCC unroll 16
    for (int j = 0; j < kPairs; ++j) {
      for (int p = 0; p < kParts; ++p) {
        pairs[j][p] = Format::pair(planes, j, p);
      }
    }
  }

  Steps<kGroups> steps;
  Halves pairs[kPairs][kParts];
};

// Multiplies a block by kCount vectors. Unrolling the loop over pairs would spill its sums.
template <int kCount, int kGroups>
void add_block(const IntegerLayout& layout, const Block<kGroups>& block,
               const Rounded<kTogether>& x, Index number, Index first, Lanes* totals) {
  constexpr int kGroupPairs = kPairs / kGroups;
  const std::int16_t* quanta = x.quanta(first, number);
  const float* scales = x.scales(first, number);
  for (int group = 0; group < kGroups; ++group) {
    Integers sums[kCount][kParts];
#pragma GCC unroll 16
    for (int b = 0; b < kCount; ++b) {
      for (int p = 0; p < kParts; ++p) {
        sums[b][p] = Integers{} - layout.offset * x.sum<kGroups>(first + b, number, group);
      }
    }
#pragma GCC unroll 1
    for (int j = group * kGroupPairs; j < (group + 1) * kGroupPairs; ++j) {
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
      block.steps.add_to(totals[first + b], sums[b], group, scales[b],
                         x.sum<kGroups>(first + b, number, group), layout.has_least);
    }
  }
}

template <class Format>
void add_panel(const Stretch& weights, const Rounded<kTogether>& x, Index count, Lanes* totals) {
  for (Index number = 0; number < weights.blocks; ++number) {
    weights.ask_behind(number);
    Block<Format::kGroups> block(weights, number);
    block.template unpack<Format>(weights.block(number) + weights.layout.factor_bytes);
    for_tiles<kTile>(0, count, [&](auto size, Index first) {
      add_block<decltype(size)::value>(weights.layout, block, x, number, first, totals);
    });
  }
}

// Multiplies by one vector, unpacking each block as it is used.
template <class Format>
void add_panel(const Stretch& weights, const Rounded<1>& x, Index, Lanes* totals) {
  constexpr int kGroups = Format::kGroups;
  constexpr int kGroupPairs = kPairs / kGroups;
  const IntegerLayout& layout = weights.layout;
  Lanes result = totals[0];
  for (Index number = 0; number < weights.blocks; ++number) {
    const char* block = weights.block(number);
    const char* planes = block + layout.factor_bytes;
    weights.ask_behind(number);
    const std::int16_t* quanta = x.quanta(0, number);
    const Steps<kGroups> steps(layout, weights.header(number), block);
#pragma GCC unroll 2
    for (int group = 0; group < kGroups; ++group) {
      const std::int32_t x_sum = x.sum<kGroups>(0, number, group);
      Integers sums[2][kParts] = {};  // of even and odd pairs, which need not wait for each other
#pragma GCC unroll 16
      for (int j = 0; j < kGroupPairs; ++j) {
        for (int p = 0; p < kParts; ++p) {
          const int pair = group * kGroupPairs + j;
          sums[j % 2][p] = add_products(Format::pair(planes, pair, p), pair_at(quanta + 2 * pair),
                                        sums[j % 2][p]);
        }
      }
      for (int p = 0; p < kParts; ++p) {
        sums[0][p] += sums[1][p] - layout.offset * x_sum;
      }
      steps.add_to(result, sums[0], group, *x.scales(0, number), x_sum, layout.has_least);
    }
  }
  totals[0] = result;
}

constexpr Index columns_of_stretch(Index vectors) { return kTogether * kStretch / vectors; }

// Multiplies columns k ... of up to kVectors vectors b ... by all panels. For k > 0 it adds to y.
template <class Format, Index kVectors>
void multiply_stretch(const IntegerLayout& layout, const PanelProduct& product, Index b, Index k) {
  constexpr Index kColumns = columns_of_stretch(kVectors);
  const Index vectors = product.batch - b < kVectors ? product.batch - b : kVectors;
  const Index columns = product.columns - k < kColumns ? product.columns - k : kColumns;
  const Rounded<kVectors> x(product.x + b * product.x_stride + k, product.x_stride, vectors,
                            columns);
  const Index spans = (k / kScaleBlock) >> layout.span_shift;  // before the stretch
  Stretch weights{.layout = layout,
                  .first = static_cast<const char*>(product.panels) + spans * layout.span_bytes,
                  .blocks = (columns + kScaleBlock - 1) / kScaleBlock,
                  .panel_bytes = product.panel_bytes};
  for (Index i = 0; i < product.count; ++i, weights.first += product.panel_bytes) {
    float* y = product.y + b * product.y_stride + i * kPanelRows;
    Lanes totals[kVectors] = {};
    for (Index v = 0; v < vectors && k > 0; ++v) {
      load(y + v * product.y_stride, totals[v]);
    }
    add_panel<Format>(weights, x, vectors, totals);
    for (Index v = 0; v < vectors; ++v) {
      store(totals[v], y + v * product.y_stride);
    }
  }
}

// Multiplies each stretch of columns by all vectors before it reads the next stretch.
template <class Format, Index kVectors>
void multiply_all(const IntegerLayout& layout, const PanelProduct& product) {
  for (Index k = 0; k < product.columns; k += columns_of_stretch(kVectors)) {
    for (Index b = 0; b < product.batch; b += kVectors) {
      multiply_stretch<Format, kVectors>(layout, product, b, k);
    }
  }
}

// A single vector multiplies whole panels in memory order.
template <class Format>
void multiply_numbers(const IntegerLayout& layout, const PanelProduct& product) {
  product.batch == 1 ? multiply_all<Format, 1>(layout, product)
                     : multiply_all<Format, kTogether>(layout, product);
}

void multiply(const IntegerLayout& layout, const PanelProduct& product) {
  if (layout.low_bits == 8) {
    multiply_numbers<Numbers<8, 0, 1>>(layout, product);
  } else if (layout.low_bits == 2) {
    layout.high_bits == 0 ? multiply_numbers<Numbers<2, 0, 2>>(layout, product)
                          : multiply_numbers<Numbers<2, 1, 2>>(layout, product);
  } else if (layout.uneven) {
    multiply_numbers<Numbers<4, 0, 1, true>>(layout, product);
  } else if (layout.high_bits == 0) {
    multiply_numbers<Numbers<4, 0, 1>>(layout, product);
  } else {
    layout.high_bits == 1 ? multiply_numbers<Numbers<4, 1, 1>>(layout, product)
                          : multiply_numbers<Numbers<4, 2, 2>>(layout, product);
  }
}

}  // namespace

namespace HEADLIGHT_VARIANT {

const IntegerPanels kIntegerPanels = {.multiply = multiply};

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
