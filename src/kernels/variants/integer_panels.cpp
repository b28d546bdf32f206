// Compiled once per instruction set, with the rules of loops.cpp, and once more for CPUs whose
// instructions add up products of integers: AVX-512 VNNI, and dotprod of ARM.
#include "kernels/panels/integer_panels.h"

#include "kernels/panels/panels.h"
#include "kernels/variants/byte_products.h"
#include "kernels/variants/integer_blocks.h"
#include "kernels/variants/panels.h"
#include "kernels/variants/rounded_vectors.h"
#include "kernels/variants/tables.h"

namespace headlight::kernels {
namespace {

constexpr int kPieces = kScaleBlock / kPieceColumns;  // per block

// Results of a stretch.
struct StretchVectors {
  float* at(Index vector, int panel) const { return start + vector * stride + panel * kPanelRows; }

  float* start;
  Index stride;
  Index count;
  bool adds;  // to the results of earlier stretches
};

#if defined(__AVX512VNNI__)

template <int kPanels>
using TileSums = Sums[kTile][kPanels];

// Adds the products of a group of pieces with kTile vectors. Unpacks the numbers again for each
// tile: that takes one instruction for 64 numbers, or none.
template <class Format, int kPanels>
inline void add_group_products(const char* planes, Index panel_bytes, const std::int16_t* quanta,
                               int group, TileSums<kPanels>& sums) {
  constexpr int kGroupPieces = kPieces / Format::kGroups;
#pragma GCC unroll 8
  for (int j = 0; j < kGroupPieces; ++j) {
    const int piece = group * kGroupPieces + j;
    Weights numbers[kPanels];
#pragma GCC unroll 2
    for (int i = 0; i < kPanels; ++i) {
      numbers[i] = weights_of<Format>(planes + i * panel_bytes, piece, 0);
    }
#pragma GCC unroll 4
    for (int b = 0; b < kTile; ++b) {
      const Factors factors = factors_at(quanta + b * kScaleBlock, piece);
#pragma GCC unroll 2
      for (int i = 0; i < kPanels; ++i) {
        add_products<Format>(numbers[i], factors, sums[b][i]);
      }
    }
  }
}

// Adds the products of a block with kTile vectors. A runtime condition between the sums would make
// GCC compute one sum after the other.
template <bool kHasLeast, class Format, int kPanels>
inline void add_tile_block(const Stretch& weights, Index number,
                           const Rounded<Format, kTogether>& x, Index first,
                           Lanes (&results)[kTile][kPanels]) {
  const char* const block = weights.block(number);
  Steps<Format::kGroups> steps[kPanels];
#pragma GCC unroll 2
  for (int i = 0; i < kPanels; ++i) {
    const Index panel = i * weights.panel_bytes;
    steps[i] = {weights.layout, weights.header(number) + panel, block + panel};
  }
#pragma GCC unroll 2
  for (int group = 0; group < Format::kGroups; ++group) {
    TileSums<kPanels> sums;
#pragma GCC unroll 4
    for (int b = 0; b < kTile; ++b) {
#pragma GCC unroll 2
      for (int i = 0; i < kPanels; ++i) {
        sums[b][i] = sums_from(x.start(first + b, number, group));
      }
    }
    add_group_products<Format>(block + weights.layout.factor_bytes, weights.panel_bytes,
                               x.quanta(first, number), group, sums);
#pragma GCC unroll 4
    for (int b = 0; b < kTile; ++b) {
      const float scale = x.scales(first, number)[b];
      const float x_sum = x.sum(first + b, number, group);
#pragma GCC unroll 2
      for (int i = 0; i < kPanels; ++i) {
        steps[i].add_to(results[b][i], {total_of(sums[b][i])}, group, scale, x_sum, kHasLeast);
      }
    }
  }
}

// Multiplies a stretch of kPanels adjacent panels by kTile vectors, whose results and sums stay in
// registers.
template <bool kHasLeast, int kPanels, class Format>
inline void multiply_tile(const Stretch& weights, const Rounded<Format, kTogether>& x, Index first,
                          const StretchVectors& y) {
  const Index parts = (y.count + kTile - 1) / kTile * weights.blocks;
  Lanes results[kTile][kPanels] = {};
#pragma GCC unroll 4
  for (int b = 0; b < kTile; ++b) {
#pragma GCC unroll 2
    for (int i = 0; i < kPanels; ++i) {
      if (y.adds && first + b < y.count) {
        load(y.at(first + b, i), results[b][i]);
      }
    }
  }
  for (Index number = 0; number < weights.blocks; ++number) {
    weights.prefetch_next(first / kTile * weights.blocks + number, parts, kPanels);
    add_tile_block<kHasLeast>(weights, number, x, first, results);
  }
#pragma GCC unroll 4
  for (int b = 0; b < kTile; ++b) {
#pragma GCC unroll 2
    for (int i = 0; i < kPanels; ++i) {
      if (first + b < y.count) {
        store(results[b][i], y.at(first + b, i));
      }
    }
  }
}

// As the general one below, a tile of vectors at a time.
template <int kPanels, class Format>
[[gnu::noinline]] void multiply_panels_of_stretch(const Stretch& weights,
                                                  const Rounded<Format, kTogether>& x,
                                                  const StretchVectors& y) {
  for (Index first = 0; first < y.count; first += kTile) {
    weights.layout.has_least ? multiply_tile<true, kPanels>(weights, x, first, y)
                             : multiply_tile<false, kPanels>(weights, x, first, y);
  }
}

#else

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
    weights.prefetch_following(number, kPanels);
    const Block<Format, kPanels> block(weights, number);
    for_tiles<kTile>(0, count, [&](auto size, Index first) {
      add_block<decltype(size)::value>(weights.layout, block, x, number, first, totals);
    });
  }
}

#endif

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
    weights.prefetch_following(number, 1);
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

// Multiplies a stretch of kPanels adjacent panels by the vectors of x. Adds to y, [vectors, 16
// kPanels], or replaces it.
template <int kPanels, class Format, Index kVectors>
void multiply_panels_of_stretch(const Stretch& weights, const Rounded<Format, kVectors>& x,
                                const StretchVectors& y) {
  Lanes totals[kVectors][kPanels] = {};
  for (Index v = 0; v < y.count && y.adds; ++v) {
    for (int i = 0; i < kPanels; ++i) {
      load(y.at(v, i), totals[v][i]);
    }
  }
  add_panels(weights, x, y.count, totals);
  for (Index v = 0; v < y.count; ++v) {
    for (int i = 0; i < kPanels; ++i) {
      store(totals[v][i], y.at(v, i));
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
