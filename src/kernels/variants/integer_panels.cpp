// Compiled once per instruction set, with the rules of loops.cpp, and once more for CPUs whose
// instructions add up products of integers: AVX-512 VNNI, and dotprod of ARM.
#include "kernels/panels/integer_panels.h"

#include "kernels/panels/panels.h"
#include "kernels/variants/byte_products.h"
#include "kernels/variants/integer_blocks.h"
#include "kernels/variants/panels.h"
#include "kernels/variants/tables.h"

namespace headlight::kernels {
namespace {

constexpr Index kTogether = 16;  // vectors of one pass over the panels
// Panels and vectors of a tile, whose sums stay in registers. If one register holds the sums of a
// panel, two panels share the loads of x: a core loads only as many vectors as it multiplies.
constexpr int kPairedPanels = kParts == 1 ? 2 : 1;
constexpr int kTile = kTileVectors;
constexpr Index kStretch = 1024;                      // columns per pass, for the first-level cache
constexpr int kPieces = kScaleBlock / kPieceColumns;  // per block
constexpr Index kBlocks = kTogether * kStretch / kScaleBlock;  // blocks per pass

// A stretch of up to kVectors vectors, rounded in blocks of 32 columns to scale * q. q is an int16
// and the scale a power of two: 2^-15 of the block's largest element, while the int8 weights keep
// 2^-8.
template <class Format, Index kVectors>
class Rounded {
 public:
  Rounded(const IntegerLayout& layout, const float* x, Index x_stride, Index count, Index columns) {
    for (Index b = 0; b < count; ++b) {
      for (Index k = 0; k < columns; k += kScaleBlock) {
        const float* from = x + b * x_stride + k;
        const Index rest = columns - k;
        float padded[kScaleBlock] = {};
        if (rest < kScaleBlock) {
          __builtin_memcpy(padded, from, static_cast<std::size_t>(rest) * sizeof(float));
        }
        round(layout, rest < kScaleBlock ? padded : from, place_of(b, k / kScaleBlock));
      }
    }
  }

  // [vectors from b on, 32] of a block, as arrange() stores them
  const std::int16_t* quanta(Index b, Index block) const { return quanta_[place_of(b, block)]; }
  // [vectors from b on]
  const float* scales(Index b, Index block) const { return scales_ + place_of(b, block); }
  // Returns the first summand of the products of a group, one of 1 or 2 in a block: it turns
  // numbers into numbers - offset.
  std::int32_t start(Index b, Index block, int group) const {
    return starts_[place_of(b, block)][group];
  }
  // Returns the sum of the rounded elements of a group.
  float sum(Index b, Index block, int group) const { return sums_[place_of(b, block)][group]; }

 private:
  // Blocks are stored in reading order.
  static Index place_of(Index b, Index block) { return block * kVectors + b; }

  // Rounds 32 elements.
  void round(const IntegerLayout& layout, const float* x, Index place) {
    constexpr Index kGroupColumns = kScaleBlock / Format::kGroups;
    std::int32_t elements[kScaleBlock] = {};
    const float scale = round_block(x, elements);
    arrange<Format>(elements, quanta_[place]);
    for (Index group = 0; group < Format::kGroups; ++group) {
      std::int32_t sum = 0;
      std::int32_t missing = 0;
      for (Index k = group * kGroupColumns; k < (group + 1) * kGroupColumns; ++k) {
        sum += elements[k];
        missing += missing_product<Format>(elements[k]);
      }
      starts_[place][group] = missing - layout.offset * sum;
      sums_[place][group] = static_cast<float>(sum) * scale;
    }
    scales_[place] = scale;
  }

  // Returns the scale.
  static float round_block(const float* x, std::int32_t* elements) {
    std::uint32_t largest = 0;  // as bits, so that NaN compares above all numbers
    for (Index k = 0; k < kScaleBlock; ++k) {
      const std::uint32_t magnitude = __builtin_bit_cast(std::uint32_t, x[k]) & 0x7FFFFFFFU;
      largest = magnitude > largest ? magnitude : largest;
    }
    const std::uint32_t exponent = largest >> 23;
    if (exponent == 255) {
      return __builtin_nanf("");
    }
    constexpr std::uint32_t kBits = 14;  // bits of the largest value after its leading one
    const std::uint32_t limited = exponent > kBits ? exponent : kBits + 1;
    const float inverse = __builtin_bit_cast(float, (254 + kBits - limited) << 23);
    for (Index k = 0; k < kScaleBlock; ++k) {
      elements[k] = rounded(x[k] * inverse);
    }
    return __builtin_bit_cast(float, (limited - kBits) << 23);
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
  std::int32_t starts_[kBlocks][Format::kGroups];
  float sums_[kBlocks][Format::kGroups];
};

// A block of kPanels adjacent panels, unpacked for several vectors.
template <class Format, int kPanels>
struct Block {
  Block(const Stretch& weights, Index number) {
    for (int i = 0; i < kPanels; ++i) {
      const char* block = weights.block(number) + i * weights.panel_bytes;
      const char* planes = block + weights.layout.factor_bytes;
      steps[i] = StepsOf(weights.layout, weights.header(number) + i * weights.panel_bytes, block);
#pragma GCC unroll 16
      for (int j = 0; j < kPieces; ++j) {
        for (int p = 0; p < kParts; ++p) {
          pieces[j][i][p] = weights_of<Format>(planes, j, p);
        }
      }
    }
  }

  using StepsOf = Steps<Format::kGroups>;
  StepsOf steps[kPanels];
  Weights pieces[kPieces][kPanels][kParts];
};

// Multiplies a block by kCount vectors. Unrolling the loop over pieces would spill its sums.
template <int kCount, class Format, int kPanels>
void add_block(const IntegerLayout& layout, const Block<Format, kPanels>& block,
               const Rounded<Format, kTogether>& x, Index number, Index first,
               Lanes (*totals)[kPanels]) {
  constexpr int kGroupPieces = kPieces / Format::kGroups;
  const std::int16_t* quanta = x.quanta(first, number);
  const float* scales = x.scales(first, number);
  for (int group = 0; group < Format::kGroups; ++group) {
    Sums sums[kCount][kPanels][kParts];
#pragma GCC unroll 8
    for (int b = 0; b < kCount; ++b) {
      for (int i = 0; i < kPanels * kParts; ++i) {
        sums[b][i / kParts][i % kParts] = sums_from(x.start(first + b, number, group));
      }
    }
#pragma GCC unroll 1
    for (int j = group * kGroupPieces; j < (group + 1) * kGroupPieces; ++j) {
#pragma GCC unroll 8
      for (int b = 0; b < kCount; ++b) {
        const Factors factors = factors_at(quanta + b * kScaleBlock, j);
#pragma GCC unroll 4
        for (int i = 0; i < kPanels * kParts; ++i) {
          add_products<Format>(block.pieces[j][i / kParts][i % kParts], factors,
                               sums[b][i / kParts][i % kParts]);
        }
      }
    }
#pragma GCC unroll 8
    for (int b = 0; b < kCount; ++b) {
      for (int i = 0; i < kPanels; ++i) {
        Integers all[kParts];
        for (int p = 0; p < kParts; ++p) {
          all[p] = total_of(sums[b][i][p]);
        }
        block.steps[i].add_to(totals[first + b][i], all, group, scales[b],
                              x.sum(first + b, number, group), layout.has_least);
      }
    }
  }
}

// Multiplies a stretch of kPanels adjacent panels by `count` vectors. Is not inlined: in one
// function with all formats, V8 (WebAssembly) keeps the sums in memory, which takes twice the time.
template <int kPanels, class Format>
[[gnu::noinline]] void add_panels(const Stretch& weights, const Rounded<Format, kTogether>& x,
                                  Index count, Lanes (*totals)[kPanels]) {
  for (Index number = 0; number < weights.blocks; ++number) {
    weights.ask_behind(number, kPanels);
    const Block<Format, kPanels> block(weights, number);
    for_tiles<kTile>(0, count, [&](auto size, Index first) {
      add_block<decltype(size)::value>(weights.layout, block, x, number, first, totals);
    });
  }
}

// Multiplies by one vector, unpacking each block as it is used.
template <int kPanels, class Format>
void add_panels(const Stretch& weights, const Rounded<Format, 1>& x, Index,
                Lanes (*totals)[kPanels]) {
  static_assert(kPanels == 1);
  constexpr int kGroupPieces = kPieces / Format::kGroups;
  const IntegerLayout& layout = weights.layout;
  Lanes result = totals[0][0];
  for (Index number = 0; number < weights.blocks; ++number) {
    const char* block = weights.block(number);
    const char* planes = block + layout.factor_bytes;
    weights.ask_behind(number, 1);
    const std::int16_t* quanta = x.quanta(0, number);
    const Steps<Format::kGroups> steps(layout, weights.header(number), block);
#pragma GCC unroll 2
    for (int group = 0; group < Format::kGroups; ++group) {
      Sums sums[2][kParts] = {};  // of even and odd pieces, which need not wait for each other
      for (int p = 0; p < kParts; ++p) {
        sums[0][p] = sums_from(x.start(0, number, group));
      }
#pragma GCC unroll 16
      for (int j = 0; j < kGroupPieces; ++j) {
        const int piece = group * kGroupPieces + j;
        const Factors factors = factors_at(quanta, piece);
        for (int p = 0; p < kParts; ++p) {
          add_products<Format>(weights_of<Format>(planes, piece, p), factors, sums[j % 2][p]);
        }
      }
      Integers all[kParts];
      for (int p = 0; p < kParts; ++p) {
        all[p] = total_of(sums[0][p]) + total_of(sums[1][p]);
      }
      steps.add_to(result, all, group, *x.scales(0, number), x.sum(0, number, group),
                   layout.has_least);
    }
  }
  totals[0][0] = result;
}

constexpr Index columns_of_stretch(Index vectors) { return kTogether * kStretch / vectors; }

// Results of a stretch.
struct StretchVectors {
  float* start;
  Index stride;
  Index count;
  bool adds;  // to the results of earlier stretches
};

// Multiplies a stretch of kPanels adjacent panels by the vectors of x. Adds to y, [vectors, 16
// kPanels], or replaces it.
template <int kPanels, class Format, Index kVectors>
void multiply_panels_of_stretch(const Stretch& weights, const Rounded<Format, kVectors>& x,
                                const StretchVectors& y) {
  Lanes totals[kVectors][kPanels] = {};
  for (Index v = 0; v < y.count && y.adds; ++v) {
    for (int i = 0; i < kPanels; ++i) {
      load(y.start + v * y.stride + i * kPanelRows, totals[v][i]);
    }
  }
  add_panels(weights, x, y.count, totals);
  for (Index v = 0; v < y.count; ++v) {
    for (int i = 0; i < kPanels; ++i) {
      store(totals[v][i], y.start + v * y.stride + i * kPanelRows);
    }
  }
}

// Multiplies columns k ... of up to kVectors vectors b ... by all panels. For k > 0 it adds to y.
template <class Format, Index kVectors>
void multiply_stretch(const IntegerLayout& layout, const PanelProduct& product, Index b, Index k) {
  constexpr Index kColumns = columns_of_stretch(kVectors);
  constexpr int kPanels = kVectors == 1 ? 1 : kPairedPanels;
  const Index vectors = product.batch - b < kVectors ? product.batch - b : kVectors;
  const Index columns = product.columns - k < kColumns ? product.columns - k : kColumns;
  const Rounded<Format, kVectors> x(layout, product.x + b * product.x_stride + k, product.x_stride,
                                    vectors, columns);
  const Index spans = (k / kScaleBlock) >> layout.span_shift;  // before the stretch
  Stretch weights{.layout = layout,
                  .first = static_cast<const char*>(product.panels) + spans * layout.span_bytes,
                  .blocks = (columns + kScaleBlock - 1) / kScaleBlock,
                  .panel_bytes = product.panel_bytes};
  StretchVectors y{.start = product.y + b * product.y_stride,
                   .stride = product.y_stride,
                   .count = vectors,
                   .adds = k > 0};
  for_tiles<kPanels>(0, product.count, [&](auto size, Index) {
    constexpr int kSize = decltype(size)::value;
    multiply_panels_of_stretch<kSize>(weights, x, y);
    weights.first += kSize * product.panel_bytes;
    y.start += kSize * kPanelRows;
  });
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

// Calls use(Numbers<...>()) with the numbers of a layout.
template <class Use>
void with_numbers(const IntegerLayout& layout, const Use& use) {
  if (layout.low_bits == 8) {
    use(Numbers<8, 0, 1>());
  } else if (layout.low_bits == 2) {
    layout.high_bits == 0 ? use(Numbers<2, 0, 2>()) : use(Numbers<2, 1, 2>());
  } else if (layout.uneven) {
    use(Numbers<4, 0, 1, true>());
  } else if (layout.high_bits == 0) {
    use(Numbers<4, 0, 1>());
  } else {
    layout.high_bits == 1 ? use(Numbers<4, 1, 1>()) : use(Numbers<4, 2, 2>());
  }
}

void multiply(const IntegerLayout& layout, const PanelProduct& product) {
  with_numbers(layout, [&](auto numbers) { multiply_numbers<decltype(numbers)>(layout, product); });
}

#if defined(__AVX512VNNI__)

void multiply_strips(const IntegerLayout& layout, const StripProduct& product) {
  with_numbers(layout, [&](auto numbers) {
    layout.has_least ? multiply_signed<decltype(numbers), true>(layout, product)
                     : multiply_signed<decltype(numbers), false>(layout, product);
  });
}

#endif

}  // namespace

namespace HEADLIGHT_VARIANT {

#if defined(__AVX512VNNI__)
const IntegerPanels kIntegerPanels = {.multiply = multiply,
                                      .strip_rows = kStripRows,
                                      .strip_bytes = kStripRows * sizeof(ByteBlock),
                                      .unpacked_bytes = sizeof(SignedBlock<2>),
                                      .round_strip = round_strip,
                                      .multiply_strips = multiply_strips};
#else
const IntegerPanels kIntegerPanels = {.multiply = multiply};
#endif

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
