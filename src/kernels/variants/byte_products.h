#pragma once

#include "kernels/gemm/gemm_tile.h"
#include "kernels/variants/integer_blocks.h"
#include "kernels/variants/rounded_vectors.h"

// Included only by integer_panels.cpp of this folder. Multiplies panels of integers by many rows of
// x that are rounded to bytes, with vpdpbusd of AVX-512 VNNI: four products for each lane, twice as
// many as 16-bit factors allow.
namespace headlight::kernels {
namespace {

#if defined(__AVX512VNNI__)

// Rows of a strip: 5 x 2 sums of integers + 5 x 2 totals + 2 for the panels + 1 for x = 23
// registers. Six rows are slightly slower.
constexpr int kStripRows = 5;
constexpr int kStripPanels = 2;
constexpr int kWordsOfBlock = kScaleBlock / 4;

// 32 elements of a row, about scale * (numbers - 128). A strip is [blocks, kStripRows] of these.
struct alignas(16) ByteBlock {
  std::uint8_t numbers[kScaleBlock];  // columns 0, 2, 1, 3 of every four
  float scale;
  float sums[2];  // of the rounded elements of each half
  float sum;
};

// 32 floats.
struct Elements {
  __m512 left;
  __m512 right;
};

// Loads elements of a row; those from `count` on are 0.
inline Elements elements_at(const float* x, Index count) {
  const auto mask = [&](Index first) {
    const Index rest = count - first;
    return static_cast<__mmask16>(rest >= 16 ? 0xFFFF : rest <= 0 ? 0 : (1 << rest) - 1);
  };
  return {_mm512_maskz_loadu_ps(mask(0), x), _mm512_maskz_loadu_ps(mask(16), x + 16)};
}

// Writes the sums of 32 bytes in the order of their columns, minus 128.
inline void add_up(__m256i bytes, ByteBlock& to) {
  const __m256i sums = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
  const auto sum_of = [](__m128i pair) {
    return static_cast<int>(_mm_extract_epi64(pair, 0) + _mm_extract_epi64(pair, 1)) - 16 * 128;
  };
  const int first = sum_of(_mm256_castsi256_si128(sums));
  const int second = sum_of(_mm256_extracti128_si256(sums, 1));
  to.sums[0] = static_cast<float>(first) * to.scale;
  to.sums[1] = static_cast<float>(second) * to.scale;
  to.sum = static_cast<float>(first + second) * to.scale;
}

// Rounds 32 elements; returns the rounding errors. Elements below 2^-100 become 0.
inline Elements round_block(const Elements& x, ByteBlock& to) {
  const std::uint32_t largest =
      largest_magnitude(reinterpret_cast<__m512i>(x.left), reinterpret_cast<__m512i>(x.right));
  constexpr std::uint32_t kInfinity = 255U << 23;
  constexpr std::uint32_t kTiny = 27U << 23;
  const float magnitude = __builtin_bit_cast(float, largest);
  to.scale = largest >= kInfinity ? __builtin_nanf("") : largest < kTiny ? 0.0F : magnitude / 127;
  const bool is_number = largest < kInfinity && largest >= kTiny;
  const __m512 factor = _mm512_set1_ps(is_number ? 127.0F / magnitude : 0.0F);
  const __m512 scale = _mm512_set1_ps(to.scale);
  Elements rest = x;
  const auto bytes_of = [&](__m512& part) {
    const __m512i whole = is_number
                              ? _mm512_maskz_cvtps_epi32(kAllLanes, _mm512_mul_ps(part, factor))
                              : _mm512_setzero_si512();
    part = _mm512_fnmadd_ps(_mm512_maskz_cvtepi32_ps(kAllLanes, whole), scale, part);
    return _mm512_maskz_cvtepi32_epi8(kAllLanes, _mm512_add_epi32(whole, _mm512_set1_epi32(128)));
  };
  const __m128i low = bytes_of(rest.left);
  const __m256i bytes = _mm256_set_m128i(bytes_of(rest.right), low);
  const __m256i order = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15));
  _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(to.numbers), _mm256_shuffle_epi8(bytes, order));
  add_up(bytes, to);
  return rest;
}

// Rows from `rows` on become 0.
void round_strip(const MatrixView<float>& x, Index rows, Index columns, const StripMemory& to) {
  auto* blocks = static_cast<ByteBlock*>(to.strip);
  auto* rest = static_cast<ByteBlock*>(to.rest);
  for (Index k = 0; k < columns; k += kScaleBlock) {
    for (Index row = 0; row < kStripRows; ++row) {
      const Index index = k / kScaleBlock * kStripRows + row;
      const Index count = row < rows ? columns - k : 0;
      const Elements removed = round_block(elements_at(x.at(row, k), count), blocks[index]);
      if (rest != nullptr) {
        round_block(removed, rest[index]);
      }
    }
  }
}

// Parts of unpacked panels, one for each block.
template <int kGroups>
struct SignedBlock {
  __m512i numbers[kWordsOfBlock][kStripPanels];  // minus the offset, as signed bytes
  __m512i starts[kGroups][kStripPanels];         // what to add because x is not signed
  __m512 steps[kGroups][kStripPanels];
  __m512 leasts[kGroups][kStripPanels];
};

// Unpacks block number `number` of a panel.
template <class Format>
void unpack_signed(const Stretch& weights, Index number, int index,
                   SignedBlock<Format::kGroups>& to) {
  constexpr int kGroups = Format::kGroups;
  const IntegerLayout& layout = weights.layout;
  const char* planes = weights.block(number) + layout.factor_bytes;
  const Steps<kGroups> steps(layout, weights.header(number), weights.block(number));
  const __m512i offset = _mm512_set1_epi8(static_cast<char>(layout.offset));
  __m512i sums[kGroups] = {};
#pragma GCC unroll 8
  for (int word = 0; word < kWordsOfBlock; ++word) {
    const auto even = reinterpret_cast<__m512i>(numbers_of_pair<Format>(planes, 2 * word, 0));
    const auto odd = reinterpret_cast<__m512i>(numbers_of_pair<Format>(planes, 2 * word + 1, 0));
    const __m512i numbers =
        _mm512_sub_epi8(_mm512_or_si512(even, _mm512_slli_epi16(odd, 8)), offset);
    to.numbers[word][index] = numbers;
    __m512i& sum = sums[word * kGroups / kWordsOfBlock];
    sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(-128), numbers);
  }
  for (int g = 0; g < kGroups; ++g) {
    to.starts[g][index] = _mm512_sub_epi32(_mm512_setzero_si512(), sums[g]);
    to.steps[g][index] = reinterpret_cast<__m512>(steps.step[g].part[0]);
    to.leasts[g][index] = reinterpret_cast<__m512>(steps.least[g].part[0]);
  }
}

using StripTotals = __m512[kStripRows][kStripPanels];

// Adds the products of a block with the rows of a strip.
template <int kGroups, bool kHasLeast>
inline void add_signed_block(const SignedBlock<kGroups>& block, const ByteBlock* x,
                             StripTotals& totals) {
  constexpr int kWords = kWordsOfBlock / kGroups;
#pragma GCC unroll 2
  for (int g = 0; g < kGroups; ++g) {
    __m512i sums[kStripRows][kStripPanels];
#pragma GCC unroll 5
    for (int row = 0; row < kStripRows; ++row) {
      sums[row][0] = block.starts[g][0];
      sums[row][1] = block.starts[g][1];
    }
#pragma GCC unroll 8
    for (int word = g * kWords; word < (g + 1) * kWords; ++word) {
      const __m512i left = block.numbers[word][0];
      const __m512i right = block.numbers[word][1];
#pragma GCC unroll 5
      for (int row = 0; row < kStripRows; ++row) {
        const auto four = reinterpret_cast<__m512i>(word_at(x[row].numbers + 4 * word));
        sums[row][0] = _mm512_dpbusd_epi32(sums[row][0], four, left);
        sums[row][1] = _mm512_dpbusd_epi32(sums[row][1], four, right);
      }
    }
#pragma GCC unroll 5
    for (int row = 0; row < kStripRows; ++row) {
      const __m512 scale = _mm512_set1_ps(x[row].scale);
      const __m512 x_sum = _mm512_set1_ps(kGroups == 1 ? x[row].sum : x[row].sums[g]);
#pragma GCC unroll 2
      for (int p = 0; p < kStripPanels; ++p) {
        __m512 total = totals[row][p];
        if (kHasLeast) {
          total = _mm512_fmadd_ps(block.leasts[g][p], x_sum, total);
        }
        totals[row][p] = _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(kAllLanes, sums[row][p]),
                                         _mm512_mul_ps(block.steps[g][p], scale), total);
      }
    }
  }
}

struct StripTarget {
  float* to;
  Index stride;
  Index rows;    // that y has
  Index panels;  // 1 or 2
  bool adds;
};

// Multiplies a strip by two unpacked panels. The loops have constant bounds, so that all totals
// stay in registers.
template <int kGroups, bool kHasLeast>
void multiply_strip(const SignedBlock<kGroups>* weights, Index blocks, const ByteBlock* x,
                    const StripTarget& y) {
  StripTotals totals = {};
  for (Index number = 0; number < blocks; ++number) {
    add_signed_block<kGroups, kHasLeast>(weights[number], x + number * kStripRows, totals);
  }
#pragma GCC unroll 5
  for (int row = 0; row < kStripRows; ++row) {
#pragma GCC unroll 2
    for (int p = 0; p < kStripPanels; ++p) {
      if (row < y.rows && p < y.panels) {
        float* to = y.to + row * y.stride + p * kPanelRows;
        const __m512 before = y.adds ? _mm512_loadu_ps(to) : _mm512_setzero_ps();
        _mm512_storeu_ps(to, _mm512_add_ps(before, totals[row][p]));
      }
    }
  }
}

// Unpacks two panels, or the first twice if there is only one.
template <class Format>
void unpack_pair(const Stretch& pair, Index count, SignedBlock<Format::kGroups>* to) {
  for (int index = 0; index < kStripPanels; ++index) {
    Stretch panel = pair;
    panel.first += index < count ? index * pair.panel_bytes : 0;
    for (Index number = 0; number < pair.blocks; ++number) {
      unpack_signed<Format>(panel, number, index, to[number]);
    }
  }
}

// Unpacks two panels at a time and multiplies them by all strips.
template <class Format, bool kHasLeast>
void multiply_signed(const IntegerLayout& layout, const StripProduct& product) {
  const PanelProduct& panels = product.panels;
  const Index strips = (panels.batch + kStripRows - 1) / kStripRows;
  Stretch pair{.layout = layout,
               .first = static_cast<const char*>(panels.panels),
               .blocks = (panels.columns + kScaleBlock - 1) / kScaleBlock,
               .panel_bytes = panels.panel_bytes};
  auto* weights = static_cast<SignedBlock<Format::kGroups>*>(product.unpacked);
  for (Index i = 0; i < panels.count; i += kStripPanels) {
    unpack_pair<Format>(pair, panels.count - i, weights);
    for (Index strip = 0; strip < strips; ++strip) {
      pair.prefetch_next(strip, strips, kStripPanels);
      const Index row = strip * kStripRows;
      const auto* x = reinterpret_cast<const ByteBlock*>(product.strips) + row * pair.blocks;
      multiply_strip<Format::kGroups, kHasLeast>(
          weights, pair.blocks, x,
          {.to = panels.y + row * panels.y_stride + i * kPanelRows,
           .stride = panels.y_stride,
           .rows = panels.batch - row,
           .panels = panels.count - i,
           .adds = product.adds});
    }
    pair.first += kStripPanels * panels.panel_bytes;
  }
}

#endif

}  // namespace
}  // namespace headlight::kernels
