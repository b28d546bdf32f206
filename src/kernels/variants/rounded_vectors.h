#pragma once

#include "kernels/variants/integer_products.h"

// Included only by integer_panels.cpp and byte_products.h of this folder. Rounds the vectors x of
// products with integers, in blocks of 32 columns, to scale * q. q is an int16 and the scale a
// power of two: 2^-15 of the block's largest element, while the int8 weights keep 2^-8.
namespace headlight::kernels {
namespace {

constexpr Index kTogether = 16;   // vectors of one pass over the panels
constexpr Index kStretch = 1024;  // columns per pass, for the first-level cache
constexpr Index kBlocks = kTogether * kStretch / kScaleBlock;  // blocks per pass
// Panels and vectors of a tile, whose sums stay in registers. If one register holds the sums of a
// panel, two panels share the loads of x: a core loads only as many vectors as it multiplies.
constexpr int kPairedPanels = kParts == 1 ? 2 : 1;
constexpr int kTile =
    kParts == 1 ? kTileVectors * kVectorBytes / static_cast<int>(sizeof(Sums)) : kTileVectors;

// Sums of each group of a rounded block: of the elements, and of the parts of their products that
// add_products() lacks.
template <class Format>
struct BlockSums {
  std::int32_t elements[Format::kGroups] = {};
  std::int32_t missing[Format::kGroups] = {};
};

// Scale of a block and its inverse, from the bits of its largest magnitude.
struct BlockScale {
  explicit BlockScale(std::uint32_t largest) : exponent(largest >> 23) {
    constexpr std::uint32_t kBits = 14;  // bits of the largest value after its leading one
    const std::uint32_t limited = exponent > kBits ? exponent : kBits + 1;
    inverse = __builtin_bit_cast(float, (254 + kBits - limited) << 23);
    scale = is_number() ? __builtin_bit_cast(float, (limited - kBits) << 23) : __builtin_nanf("");
  }
  bool is_number() const { return exponent != 255; }

  std::uint32_t exponent;
  float inverse;
  float scale;
};

#if defined(__AVX512VNNI__)

constexpr __mmask16 kAllLanes = 0xFFFF;  // see looked_up()

// Returns the largest magnitude of two vectors of floats, as bits, so that NaN is above all
// numbers.
inline std::uint32_t largest_magnitude(__m512i left, __m512i right) {
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  const __m512i both = _mm512_maskz_max_epi32(kAllLanes, _mm512_and_si512(left, magnitude),
                                              _mm512_and_si512(right, magnitude));
  const __m256i eight = _mm256_max_epi32(_mm512_maskz_extracti64x4_epi64(0xF, both, 0),
                                         _mm512_maskz_extracti64x4_epi64(0xF, both, 1));
  __m128i four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4E));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xB1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(four));
}

// The element of each of the high and of the low bytes.
template <class Format>
struct ByteOrder {
  constexpr ByteOrder() {
    for (int i = 0; i < kScaleBlock; ++i) {
      element[i] = element_of_byte<Format>(i);
    }
  }
  alignas(64) std::int16_t element[kScaleBlock] = {};
};

// Rounds 16 elements to the nearest integers, ties to even, at most 32767, as int16.
inline __m256i rounded(__m512 x, __m512 inverse) {
  const __m512i whole = _mm512_maskz_cvtps_epi32(kAllLanes, _mm512_mul_ps(x, inverse));
  return _mm512_maskz_cvtepi32_epi16(
      kAllLanes, _mm512_maskz_min_epi32(kAllLanes, whole, _mm512_set1_epi32(32767)));
}

// Writes the sums of the bytes of each group.
template <int kGroups>
inline void sum_bytes(__m256i bytes, std::int32_t (&sums)[kGroups]) {
  const __m256i eights = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
  const auto sum_of = [](__m128i pair) {
    return static_cast<std::int32_t>(_mm_extract_epi64(pair, 0) + _mm_extract_epi64(pair, 1));
  };
  sums[0] = sum_of(_mm256_castsi256_si128(eights));
  const std::int32_t second = sum_of(_mm256_extracti128_si256(eights, 1));
  if constexpr (kGroups == 1) {
    sums[0] += second;
  } else {
    sums[1] = second;
  }
}

// Rounds 32 elements of x.
template <class Format>
inline BlockSums<Format> round_block(const float* x, std::int16_t* quanta, float& scale) {
  constexpr int kGroups = Format::kGroups;
  constexpr std::int32_t kGroupBytes = kScaleBlock / kGroups;
  static constexpr ByteOrder<Format> kOrder;
  const __m512 left = _mm512_loadu_ps(x);
  const __m512 right = _mm512_loadu_ps(x + 16);
  const BlockScale block(
      largest_magnitude(reinterpret_cast<__m512i>(left), reinterpret_cast<__m512i>(right)));
  scale = block.scale;
  const __m512 inverse = _mm512_set1_ps(block.is_number() ? block.inverse : 0);
  const __m512i whole = _mm512_maskz_inserti64x4(
      0xFF, _mm512_castsi256_si512(rounded(left, inverse)), rounded(right, inverse), 1);
  const __m512i ordered =
      _mm512_maskz_permutexvar_epi16(~0U, _mm512_load_si512(kOrder.element), whole);
  const __m256i high = _mm512_maskz_cvtepi16_epi8(~0U, _mm512_srli_epi16(ordered, 8));
  const __m256i low = _mm512_maskz_cvtepi16_epi8(~0U, ordered);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(quanta), high);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(quanta) + 1, low);
  std::int32_t highs[kGroups];  // of the bytes plus 128
  std::int32_t lows[kGroups];
  sum_bytes(_mm256_xor_si256(high, _mm256_set1_epi8(-128)), highs);
  sum_bytes(low, lows);
  BlockSums<Format> sums;
  for (int g = 0; g < kGroups; ++g) {
    sums.elements[g] = 256 * (highs[g] - 128 * kGroupBytes) + lows[g];
    sums.missing[g] = kShift<Format> * lows[g];
  }
  return sums;
}

#else

// Returns the integer nearest to x, ties to even, at most 32767. Takes it from the lowest bits of
// x + 1.5 * 2^23.
inline std::int32_t rounded(float x) {
  constexpr float kRound = 12582912.0F;
  const std::int32_t whole =
      __builtin_bit_cast(std::int32_t, x + kRound) - __builtin_bit_cast(std::int32_t, kRound);
  return whole > 32767 ? 32767 : whole;
}

// Rounds 32 elements of x.
template <class Format>
inline BlockSums<Format> round_block(const float* x, std::int16_t* quanta, float& scale) {
  std::uint32_t largest = 0;  // as bits, so that NaN compares above all numbers
  for (Index k = 0; k < kScaleBlock; ++k) {
    const std::uint32_t magnitude = __builtin_bit_cast(std::uint32_t, x[k]) & 0x7FFFFFFFU;
    largest = magnitude > largest ? magnitude : largest;
  }
  const BlockScale block(largest);
  scale = block.scale;
  std::int32_t elements[kScaleBlock] = {};
  for (Index k = 0; k < kScaleBlock && block.is_number(); ++k) {
    elements[k] = rounded(x[k] * block.inverse);
  }
  arrange<Format>(elements, quanta);
  BlockSums<Format> sums;
  constexpr Index kGroupColumns = kScaleBlock / Format::kGroups;
  for (Index group = 0; group < Format::kGroups; ++group) {
    for (Index k = group * kGroupColumns; k < (group + 1) * kGroupColumns; ++k) {
      sums.elements[group] += elements[k];
      sums.missing[group] += missing_product<Format>(elements[k]);
    }
  }
  return sums;
}

#endif

// A stretch of up to kVectors vectors, rounded in blocks of 32 columns.
template <class Format, Index kVectors>
class Rounded {
 public:
  // Vectors from `count` up to whole tiles become 0.
  Rounded(const IntegerLayout& layout, const float* x, Index x_stride, Index count, Index columns) {
    const Index padded_count = kVectors == 1 ? 1 : (count + kTile - 1) / kTile * kTile;
    for (Index b = 0; b < padded_count; ++b) {
      for (Index k = 0; k < columns; k += kScaleBlock) {
        const float* from = x + b * x_stride + k;
        const Index rest = b < count ? columns - k : 0;
        float padded[kScaleBlock] = {};
        if (rest > 0 && rest < kScaleBlock) {
          __builtin_memcpy(padded, from, static_cast<std::size_t>(rest) * sizeof(float));
        }
        round(layout, rest < kScaleBlock ? padded : from, index_of(b, k / kScaleBlock));
      }
    }
  }

  // [vectors from b on, 32] of a block, as factors_at() reads them
  const std::int16_t* quanta(Index b, Index block) const { return quanta_[index_of(b, block)]; }
  // [vectors from b on]
  const float* scales(Index b, Index block) const { return scales_ + index_of(b, block); }
  // Returns the first summand of the products of a group, one of 1 or 2 in a block: it turns
  // numbers into numbers - offset.
  std::int32_t start(Index b, Index block, int group) const {
    return starts_[index_of(b, block)][group];
  }
  // Returns the sum of the rounded elements of a group.
  float sum(Index b, Index block, int group) const { return sums_[index_of(b, block)][group]; }

 private:
  // Blocks are stored in reading order.
  static Index index_of(Index b, Index block) { return block * kVectors + b; }

  // Rounds 32 elements.
  void round(const IntegerLayout& layout, const float* x, Index index) {
    const BlockSums<Format> sums = round_block<Format>(x, quanta_[index], scales_[index]);
    for (Index group = 0; group < Format::kGroups; ++group) {
      starts_[index][group] = sums.missing[group] - layout.offset * sums.elements[group];
      sums_[index][group] = static_cast<float>(sums.elements[group]) * scales_[index];
    }
  }

  alignas(64) std::int16_t quanta_[kBlocks][kScaleBlock];
  float scales_[kBlocks];
  std::int32_t starts_[kBlocks][Format::kGroups];
  float sums_[kBlocks][Format::kGroups];
};

}  // namespace
}  // namespace headlight::kernels
