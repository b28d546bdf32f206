#pragma once

#include "kernels/panels/integer_panels.h"
#include "kernels/variants/panels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

// Included only by integer_panels.cpp of this folder. Multiplies a piece of a block: the columns
// that one instruction adds up, for the rows of one vector. The numbers of weights are from 0 to
// 255, the elements of x have 16 bits. Sums are exact, so every instruction set gives equal bits.
namespace headlight::kernels {
namespace {

constexpr Index kPlaneBytes = kPanelRows * 4;  // for each bit

using Halves = std::int16_t __attribute__((vector_size(kVectorBytes)));
using UnsignedHalves = std::uint16_t __attribute__((vector_size(kVectorBytes)));
using UnsignedBytes = std::uint8_t __attribute__((vector_size(kVectorBytes)));

// Returns four bytes in every lane.
inline Integers word_at(const void* from) {
  std::int32_t word;
  __builtin_memcpy(&word, from, sizeof word);
  return Integers{} + word;
}

// Looks up numbers below 16 in kUnevenNumbers. A byte whose highest bit is set becomes 0.
inline UnsignedBytes looked_up(UnsignedBytes indices) {
#if defined(__AVX512BW__)
  // GCC 12 warns about intrinsics without a mask: they leave a register undefined.
  constexpr __mmask16 kAll = 0xFFFF;
  const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kUnevenNumbers));
  return reinterpret_cast<UnsignedBytes>(_mm512_shuffle_epi8(
      _mm512_maskz_broadcast_i32x4(kAll, table), reinterpret_cast<__m512i>(indices)));
#elif defined(__AVX2__)
  const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kUnevenNumbers));
  return reinterpret_cast<UnsignedBytes>(
      _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), reinterpret_cast<__m256i>(indices)));
#elif defined(__SSSE3__)
  const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kUnevenNumbers));
  return reinterpret_cast<UnsignedBytes>(
      _mm_shuffle_epi8(table, reinterpret_cast<__m128i>(indices)));
#elif defined(__aarch64__)
  return reinterpret_cast<UnsignedBytes>(
      vqtbl1q_u8(vld1q_u8(kUnevenNumbers), reinterpret_cast<uint8x16_t>(indices)));
#elif defined(__wasm_simd128__)
  return reinterpret_cast<UnsignedBytes>(
      wasm_i8x16_swizzle(wasm_v128_load(kUnevenNumbers), reinterpret_cast<v128_t>(indices)));
#else
  UnsignedBytes numbers;
  for (int i = 0; i < kVectorBytes; ++i) {
    numbers[i] = indices[i] < 16 ? kUnevenNumbers[indices[i]] : 0;
  }
  return numbers;
#endif
}

// Returns kBits bits of a pair of columns, from the first word of a plane on.
template <int kBits>
inline UnsignedHalves bits_of_pair(const char* plane, int pair, int part) {
  constexpr int kPairsOfWord = 16 / kBits;
  const Vector words = load_vector(plane + pair / kPairsOfWord * kPlaneBytes + part * kVectorBytes);
  const UnsignedHalves halves = reinterpret_cast<UnsignedHalves>(words);
  const int position = pair % kPairsOfWord;
  const UnsignedHalves shifted =
      position == 0 ? halves : halves >> static_cast<std::uint16_t>(kBits * position);
  return position == kPairsOfWord - 1 ? shifted
                                      : shifted & static_cast<std::uint16_t>((1 << kBits) - 1);
}

// Layouts of numbers; see IntegerLayout.
template <int kLowBitCount, int kHighBitCount, int kGroupCount, bool kIsUneven = false>
struct Numbers {
  static constexpr int kLowBits = kLowBitCount;
  static constexpr int kHighBits = kHighBitCount;
  static constexpr int kGroups = kGroupCount;
  static constexpr bool kUneven = kIsUneven;
};

// Returns the numbers of a pair of columns.
template <class Format>
inline Halves numbers_of_pair(const char* planes, int pair, int part) {
  UnsignedHalves numbers = bits_of_pair<Format::kLowBits>(planes, pair, part);
  if constexpr (Format::kHighBits > 0) {
    const char* plane = planes + Format::kLowBits * kPlaneBytes;
    numbers |= bits_of_pair<Format::kHighBits>(plane, pair, part)
               << static_cast<std::uint16_t>(Format::kLowBits);
  }
  if constexpr (Format::kUneven) {
    numbers = reinterpret_cast<UnsignedHalves>(
        looked_up(reinterpret_cast<UnsignedBytes>(numbers | std::uint16_t{0x8000})));
  }
  return reinterpret_cast<Halves>(numbers);
}

#if defined(__ARM_FEATURE_DOTPROD) || defined(__AVX512VNNI__)

// Four columns, in the order in which their bits share bytes: a piece has two pairs of columns,
// kPairsApart<Format> apart. x is split into bytes, high * 256 + low.
constexpr int kPieceColumns = 4;
template <class Format>
constexpr int kPairsApart = 8 / Format::kLowBits;
// The instruction that needs signed bytes gets numbers minus this.
template <class Format>
constexpr std::uint8_t kShift = Format::kLowBits == 8 || Format::kUneven ? 128 : 0;

using Weights = UnsignedBytes;

struct Factors {
  Integers high;
  Integers low;
};

struct Sums {
  Integers high;
  Integers low;
};

template <class Format>
constexpr int first_pair(int piece) {
  constexpr int kApart = kPairsApart<Format>;
  return piece / kApart * 2 * kApart + piece % kApart;
}

template <class Format>
inline Weights weights_of(const char* planes, int piece, int part) {
  constexpr int kBits = Format::kLowBits;
  constexpr int kApart = kPairsApart<Format>;
  UnsignedBytes numbers = reinterpret_cast<UnsignedBytes>(
      load_vector(planes + piece / kApart * kPlaneBytes + part * kVectorBytes));
  if constexpr (kApart > 1) {
    const UnsignedHalves halves = reinterpret_cast<UnsignedHalves>(numbers);
    numbers = reinterpret_cast<UnsignedBytes>(halves >>
                                              static_cast<std::uint16_t>(kBits * (piece % kApart)));
    numbers &= static_cast<std::uint8_t>((1 << kBits) - 1);
  }
  if constexpr (Format::kHighBits > 0) {
    const char* plane = planes + kBits * kPlaneBytes;
    const int pair = first_pair<Format>(piece);
    const UnsignedHalves high = bits_of_pair<Format::kHighBits>(plane, pair, part) |
                                bits_of_pair<Format::kHighBits>(plane, pair + kApart, part)
                                    << std::uint16_t{8};
    numbers |= reinterpret_cast<UnsignedBytes>(high << static_cast<std::uint16_t>(kBits));
  }
  if constexpr (Format::kUneven) {
    numbers = looked_up(numbers);
  }
  return numbers;
}

// Returns the element whose bytes are number `byte` of the high and of the low bytes.
template <class Format>
constexpr std::int16_t element_of_byte(int byte) {
  const int pair = first_pair<Format>(byte / kPieceColumns) + byte % 2 * kPairsApart<Format>;
  return static_cast<std::int16_t>(2 * pair + byte / 2 % 2);
}

inline Factors factors_at(const std::int16_t* quanta, int piece) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(quanta) + kPieceColumns * piece;
  return {word_at(bytes), word_at(bytes + kScaleBlock)};
}

#if defined(__ARM_FEATURE_DOTPROD)

// Stores the high bytes of 32 elements, then the low bytes.
template <class Format>
inline void arrange(const std::int32_t* elements, std::int16_t* quanta) {
  auto* bytes = reinterpret_cast<std::uint8_t*>(quanta);
  for (int i = 0; i < kScaleBlock; ++i) {
    const std::int32_t element = elements[element_of_byte<Format>(i)];
    bytes[i] = static_cast<std::uint8_t>(element >> 8);
    bytes[kScaleBlock + i] = static_cast<std::uint8_t>(element);
  }
}

// Returns the part of number * element that the sums lack.
template <class Format>
inline std::int32_t missing_product(std::int32_t element) {
  return kShift<Format> * (element & ~0xFF);
}

// vdotq_s32 takes numbers as signed bytes, vdotq_u32 as unsigned ones.
inline Integers add_high(Integers sum, Weights numbers, std::uint8_t shift, Integers high) {
  return reinterpret_cast<Integers>(vdotq_s32(reinterpret_cast<int32x4_t>(sum),
                                              reinterpret_cast<int8x16_t>(numbers ^ shift),
                                              reinterpret_cast<int8x16_t>(high)));
}
inline Integers add_low(Integers sum, Weights numbers, std::uint8_t, Integers low) {
  return reinterpret_cast<Integers>(vdotq_u32(reinterpret_cast<uint32x4_t>(sum),
                                              reinterpret_cast<uint8x16_t>(numbers),
                                              reinterpret_cast<uint8x16_t>(low)));
}

#else

// vpdpbusd multiplies unsigned bytes by signed ones: numbers by high, and low by numbers - shift.
// The sums then lack shift * low: see round_block().
inline Integers add_high(Integers sum, Weights numbers, std::uint8_t, Integers high) {
  return reinterpret_cast<Integers>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum),
                                                        reinterpret_cast<__m512i>(numbers),
                                                        reinterpret_cast<__m512i>(high)));
}
inline Integers add_low(Integers sum, Weights numbers, std::uint8_t shift, Integers low) {
  return reinterpret_cast<Integers>(
      _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(low),
                          reinterpret_cast<__m512i>(numbers ^ shift)));
}

#endif

template <class Format>
inline void add_products(Weights a, const Factors& b, Sums& sums) {
  sums.high = add_high(sums.high, a, kShift<Format>, b.high);
  sums.low = add_low(sums.low, a, kShift<Format>, b.low);
}

inline Sums sums_from(std::int32_t start) { return {Integers{}, Integers{} + start}; }

inline Integers total_of(const Sums& sums) { return (sums.high << 8) + sums.low; }

#else

constexpr int kPieceColumns = 2;

using Weights = Halves;
using Factors = Halves;
using Sums = Integers;

template <class Format>
inline Weights weights_of(const char* planes, int piece, int part) {
  return numbers_of_pair<Format>(planes, piece, part);
}

template <class Format>
inline void arrange(const std::int32_t* elements, std::int16_t* quanta) {
  for (Index k = 0; k < kScaleBlock; ++k) {
    quanta[k] = static_cast<std::int16_t>(elements[k]);
  }
}

inline Factors factors_at(const std::int16_t* quanta, int piece) {
  return reinterpret_cast<Halves>(word_at(quanta + kPieceColumns * piece));
}

template <class Format>
inline std::int32_t missing_product(std::int32_t) {
  return 0;
}

template <class Format>
inline void add_products(Weights a, Factors b, Sums& sums) {
#if defined(__AVX512BW__)
  sums += reinterpret_cast<Integers>(
      _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  sums += reinterpret_cast<Integers>(
      _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  sums += reinterpret_cast<Integers>(
      _mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#elif defined(__aarch64__)
  const auto left = reinterpret_cast<int16x8_t>(a);
  const auto right = reinterpret_cast<int16x8_t>(b);
  sums += reinterpret_cast<Integers>(
      vpaddq_s32(vmull_s16(vget_low_s16(left), vget_low_s16(right)), vmull_high_s16(left, right)));
#elif defined(__wasm_simd128__)
  sums += reinterpret_cast<Integers>(
      wasm_i32x4_dot_i16x8(reinterpret_cast<v128_t>(a), reinterpret_cast<v128_t>(b)));
#else
  const auto left = reinterpret_cast<Integers>(a);
  const auto right = reinterpret_cast<Integers>(b);
  sums += (left << 16 >> 16) * (right << 16 >> 16) + (left >> 16) * (right >> 16);
#endif
}

inline Sums sums_from(std::int32_t start) { return Integers{} + start; }

inline Integers total_of(const Sums& sums) { return sums; }

#endif

}  // namespace
}  // namespace headlight::kernels
