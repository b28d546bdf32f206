#include "formats/gguf/gguf_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <variant>

#include "formats/gguf/gguf_header.h"
#include "formats/gguf/gguf_quantize.h"
#include "headlight/base/error.h"
#include "kernels/panels/step_search.h"
#include "tensor/float16.h"

namespace headlight {
namespace {

using Byte = std::uint8_t;

std::uint16_t read_word(const Byte* bytes) {
  std::uint16_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

void write_word(Byte* bytes, std::uint16_t word) { std::memcpy(bytes, &word, sizeof(word)); }

float read_half(const Byte* bytes) { return half_to_float(read_word(bytes)); }

// Returns the lower (0) or upper (1) half of a byte.
int nibble(Byte byte, int half) { return (byte >> (4 * half)) & 0xF; }

int bit(Byte byte, int index) { return (byte >> index) & 1; }

int two_bits(Byte byte, int index) { return (byte >> (2 * index)) & 3; }

// Each type below has the size of its blocks, and read() for one block. Types of integers have the
// layout of their panels, and read() returns the block's integers; others read values. Offsets are
// as in the structs block_* in ggml-common.h.

using kernels::IntegerBlock;
using kernels::IntegerLayout;
using kernels::StepKind;

struct F32 {
  static constexpr GgufBlock kBlock{1, 4};
  static void read(const Byte* block, float* values) { std::memcpy(values, block, sizeof(float)); }
  static void write(const float* values, Byte* block) { std::memcpy(block, values, sizeof(float)); }
};

// Throws Error for a finite value that became infinite.
void require_held(float value, float rounded, const char* type) {
  require(!std::isfinite(value) || std::isfinite(rounded), "contains ", value,
          ", which is too large for ", type);
}

struct F16 {
  static constexpr GgufBlock kBlock{1, 2};
  static void read(const Byte* block, float* values) { *values = read_half(block); }
  static void write(const float* values, Byte* block) {
    const std::uint16_t half = float_to_half(*values);
    require_held(*values, half_to_float(half), "F16");
    write_word(block, half);
  }
};

struct Bf16 {
  static constexpr GgufBlock kBlock{1, 2};
  static void read(const Byte* block, float* values) {
    BFloat16 number;
    number.bits = read_word(block);
    *values = static_cast<float>(number);
  }
  static void write(const float* values, Byte* block) {
    const BFloat16 rounded(*values);
    require_held(*values, static_cast<float>(rounded), "BF16");
    write_word(block, rounded.bits);
  }
};

struct Q80 {
  static constexpr GgufBlock kBlock{32, 34};
  static IntegerLayout layout() { return {.steps = StepKind::float16, .offset = 128}; }
  static void read(const Byte* block, IntegerBlock& to) {
    to.step = read_word(block);
    for (int i = 0; i < 32; ++i) {
      to.numbers[i] = block[2 + i] ^ 0x80;  // from -128 ... 127 to 0 ... 255
    }
  }
  static void write(const float* values, Byte* block) {
    float largest = 0;
    for (int i = 0; i < 32; ++i) {
      require(std::isfinite(values[i]), "contains ", values[i], ", which Q8_0 cannot express");
      largest = std::max(largest, std::abs(values[i]));
    }
    const float scale = largest / 127;
    const std::uint16_t half = float_to_half(scale);
    require(std::isfinite(half_to_float(half)), "contains ", largest,
            ", which is too large for Q8_0");
    write_word(block, half);
    const float inverse = 1 / scale;  // infinite for 0 and for the smallest numbers
    for (int i = 0; i < 32; ++i) {
      const float steps = std::isfinite(inverse) ? std::round(values[i] * inverse) : 0;
      block[2 + i] = static_cast<Byte>(static_cast<std::int8_t>(steps));
    }
  }
};

// Writes the lower halves of `count` bytes, then their upper halves.
void read_nibbles(const Byte* bytes, int count, Byte* numbers) {
  for (int i = 0; i < count; ++i) {
    numbers[i] = bytes[i] & 0xF;
    numbers[count + i] = static_cast<Byte>(bytes[i] >> 4);
  }
}

// Inverse of read_nibbles(), for numbers whose lower 4 bits are stored.
void write_nibbles(const Byte* numbers, int count, Byte* bytes) {
  for (int i = 0; i < count; ++i) {
    bytes[i] = static_cast<Byte>((numbers[i] & 0xF) | (numbers[count + i] & 0xF) << 4);
  }
}

// Returns the values of a block. Throws Error if one is not finite.
template <std::size_t kCount>
std::span<const float> finite_values(const float* values) {
  for (std::size_t i = 0; i < kCount; ++i) {
    require(std::isfinite(values[i]), "contains ", values[i], ", which integers cannot express");
  }
  return {values, kCount};
}

// Types whose scales are searched also get the importance of the values, empty or as long.
using Importance = std::span<const float>;

// Q4_0, Q4_1, Q5_0 and Q5_1: the scale, with kHasLeast the least value, with 5 bits the highest
// bits of all 32 numbers, then their lower bits. Without a least value, numbers are signed.
template <int kBits, bool kHasLeast>
struct SmallBlock {
  static constexpr int kHigh = kHasLeast ? 4 : 2;
  static constexpr int kLow = kBits == 5 ? kHigh + 4 : kHigh;
  static constexpr GgufBlock kBlock{32, kLow + 16};
  static IntegerLayout layout() {
    return {.low_bits = 4,
            .high_bits = kBits - 4,
            .steps = StepKind::float16,
            .has_least = kHasLeast,
            .offset = kHasLeast ? 0 : 1 << (kBits - 1)};
  }
  static void read(const Byte* block, IntegerBlock& to) {
    to.step = read_word(block);
    to.least = kHasLeast ? read_word(block + 2) : std::uint16_t{0};
    read_nibbles(block + kLow, 16, to.numbers);
    for (int i = 0; kBits == 5 && i < 32; ++i) {
      to.numbers[i] |= static_cast<Byte>(bit(block[kHigh + i / 8], i % 8) << 4);
    }
  }
};

// Q4_0, Q5_0 and Q5_1, which can be written. Scales without least values are searched for several
// blocks at once.
template <int kBits, bool kHasLeast>
struct WrittenBlock : SmallBlock<kBits, kHasLeast> {
  using Small = SmallBlock<kBits, kHasLeast>;
  static constexpr std::size_t kTogether = kHasLeast ? 1 : kernels::kSearchedParts;
  static void write(const float* values, Importance importance, Byte* block) requires kHasLeast {
    IntegerBlock integers;
    quantize_above_least(finite_values<32>(values), importance, kBits, integers);
    put(integers, block);
  }
  static void write_several(std::span<const float> values, Importance importance,
                            Byte* blocks) requires(!kHasLeast) {
    IntegerBlock integers[kTogether];
    const std::span some = std::span(integers).first(values.size() / 32);
    for (std::size_t i = 0; i < values.size(); i += 32) {
      finite_values<32>(values.data() + i);
    }
    quantize_signed(values, importance, kBits, some);
    for (const IntegerBlock& block : some) {
      put(block, blocks);
      blocks += Small::kBlock.bytes;
    }
  }

 private:
  static void put(const IntegerBlock& integers, Byte* block) {
    write_word(block, static_cast<std::uint16_t>(integers.step));
    if constexpr (kHasLeast) {
      write_word(block + 2, integers.least);
    }
    write_nibbles(integers.numbers, 16, block + Small::kLow);
    std::fill(block + Small::kHigh, block + Small::kLow, Byte{0});
    for (int i = 0; kBits == 5 && i < 32; ++i) {
      block[Small::kHigh + i / 8] |= static_cast<Byte>(integers.numbers[i] >> 4 << (i % 8));
    }
  }
};

// Panels add least values; K types subtract them.
std::uint16_t negated_half(std::uint16_t half) { return half ^ 0x8000; }

struct Q2K {
  static constexpr GgufBlock kBlock{256, 84};
  static IntegerLayout layout() {
    return {.low_bits = 2, .groups = 2, .steps = StepKind::bytes, .has_least = true};
  }
  static void read(const Byte* block, IntegerBlock& to) {
    to.step = read_word(block + 80);
    to.least = negated_half(read_word(block + 82));
    for (int part = 0; part < 16; ++part) {  // 16 values each; 8 parts share 32 bytes, at 4 shifts
      to.steps[part] = static_cast<std::int8_t>(nibble(block[part], 0));
      to.leasts[part] = static_cast<std::int8_t>(nibble(block[part], 1));
      const Byte* numbers = block + 16 + 32 * (part / 8) + 16 * (part % 2);
      for (int i = 0; i < 16; ++i) {
        to.numbers[16 * part + i] = static_cast<Byte>(two_bits(numbers[i], part / 2 % 4));
      }
    }
  }
};

struct Q3K {
  static constexpr GgufBlock kBlock{256, 110};
  static IntegerLayout layout() {
    return {.low_bits = 2, .high_bits = 1, .groups = 2, .steps = StepKind::bytes, .offset = 4};
  }
  static void read(const Byte* block, IntegerBlock& to) {
    to.step = read_word(block + 108);
    for (int part = 0; part < 16; ++part) {
      to.steps[part] = static_cast<std::int8_t>(six_bits(block + 96, part) - 32);
      const Byte* low = block + 32 + 32 * (part / 8) + 16 * (part % 2);
      const Byte* high = block + 16 * (part % 2);
      for (int i = 0; i < 16; ++i) {
        to.numbers[16 * part + i] =
            static_cast<Byte>(two_bits(low[i], part / 2 % 4) | bit(high[i], part / 2) << 2);
      }
    }
  }

 private:
  // Returns scale `part` of 16: 8 bytes hold the lower halves, then 4 bytes the upper two bits.
  static int six_bits(const Byte* scales, int part) {
    return nibble(scales[part % 8], part / 8) | two_bits(scales[8 + part % 4], part / 4) << 4;
  }
};

// Q4_K and Q5_K: 8 parts of 32 values, each with a scale and a least value of 6 bits, packed into
// 12 bytes. With 5 bits, the highest bits of all numbers precede their lower bits.
template <int kBits>
struct ScaledBlock {
  static constexpr int kHigh = 16;
  static constexpr int kLow = kBits == 5 ? kHigh + 32 : kHigh;
  static constexpr GgufBlock kBlock{256, kLow + 128};
  static IntegerLayout layout() {
    return {.low_bits = 4, .high_bits = kBits - 4, .steps = StepKind::bytes, .has_least = true};
  }
  static void read(const Byte* block, IntegerBlock& to) {
    to.step = read_word(block);
    to.least = negated_half(read_word(block + 2));
    for (int part = 0; part < 8; ++part) {
      read_scales(block + 4, part, to);
      for (int i = 0; kBits == 5 && i < 32; ++i) {
        to.numbers[32 * part + i] = static_cast<Byte>(bit(block[kHigh + i], part) << 4);
      }
    }
    for (int pair = 0; pair < 4; ++pair) {
      Byte low[64];
      read_nibbles(block + kLow + 32 * pair, 32, low);
      for (int i = 0; i < 64; ++i) {
        Byte& number = to.numbers[64 * pair + i];
        number = kBits == 5 ? static_cast<Byte>(number | low[i]) : low[i];
      }
    }
  }

  static void write(const float* values, Importance importance, Byte* block) {
    IntegerBlock integers;
    quantize_parts(finite_values<256>(values), importance, kBits, integers);
    std::fill_n(block, kBlock.bytes, Byte{0});
    write_word(block, static_cast<std::uint16_t>(integers.step));
    write_word(block + 2, integers.least);
    for (int part = 0; part < 8; ++part) {
      write_scales(integers, part, block + 4);
      for (int i = 0; kBits == 5 && i < 32; ++i) {
        block[kHigh + i] |= static_cast<Byte>(integers.numbers[32 * part + i] >> 4 << part);
      }
    }
    for (int pair = 0; pair < 4; ++pair) {
      write_nibbles(integers.numbers + 64 * pair, 32, block + kLow + 32 * pair);
    }
  }

 private:
  // Adds the factors of a part to 12 bytes that start as 0.
  static void write_scales(const IntegerBlock& from, int part, Byte* packed) {
    const auto scale = static_cast<Byte>(from.steps[part]);
    const auto least = static_cast<Byte>(from.leasts[part]);
    if (part < 4) {
      packed[part] |= scale;
      packed[4 + part] |= least;
    } else {
      packed[4 + part] = static_cast<Byte>((scale & 0xF) | (least & 0xF) << 4);
      packed[part - 4] |= static_cast<Byte>(scale >> 4 << 6);
      packed[part] |= static_cast<Byte>(least >> 4 << 6);
    }
  }

  static void read_scales(const Byte* packed, int part, IntegerBlock& to) {
    int scale = packed[part % 4] & 0x3F;
    int least = packed[4 + part % 4] & 0x3F;
    if (part >= 4) {
      scale = nibble(packed[4 + part], 0) | (packed[part - 4] >> 6) << 4;
      least = nibble(packed[4 + part], 1) | (packed[part] >> 6) << 4;
    }
    to.steps[part] = static_cast<std::int8_t>(scale);
    to.leasts[part] = static_cast<std::int8_t>(least);
  }
};

struct Q6K {
  static constexpr GgufBlock kBlock{256, 210};
  static IntegerLayout layout() {
    return {.low_bits = 4, .high_bits = 2, .groups = 2, .steps = StepKind::bytes, .offset = 32};
  }
  static void read(const Byte* block, IntegerBlock& to) {
    to.step = read_word(block + 208);
    for (int part = 0; part < 16; ++part) {
      to.steps[part] = static_cast<std::int8_t>(block[192 + part]);
      // Lower halves: two groups of 64 bytes; upper two bits: two groups of 32.
      const Byte* low = block + 64 * (part / 8) + 16 * (part % 4);
      const Byte* high = block + 128 + 32 * (part / 8) + 16 * (part % 2);
      for (int i = 0; i < 16; ++i) {
        to.numbers[16 * part + i] =
            static_cast<Byte>(nibble(low[i], part / 4 % 2) | two_bits(high[i], part / 2 % 4) << 4);
      }
    }
  }
  static void write(const float* values, Importance importance, Byte* block) {
    IntegerBlock integers;
    quantize_signed_parts(finite_values<256>(values), importance, integers);
    std::fill_n(block, kBlock.bytes, Byte{0});
    write_word(block + 208, static_cast<std::uint16_t>(integers.step));
    for (int part = 0; part < 16; ++part) {
      block[192 + part] = static_cast<Byte>(integers.steps[part]);
      Byte* low = block + 64 * (part / 8) + 16 * (part % 4);
      Byte* high = block + 128 + 32 * (part / 8) + 16 * (part % 2);
      for (int i = 0; i < 16; ++i) {
        const int number = integers.numbers[16 * part + i];
        low[i] |= static_cast<Byte>((number & 0xF) << (4 * (part / 4 % 2)));
        high[i] |= static_cast<Byte>(number >> 4 << (2 * (part / 2 % 4)));
      }
    }
  }
};

struct Iq4Nl {
  static constexpr GgufBlock kBlock{32, 18};
  static IntegerLayout layout() {
    return {.low_bits = 4,
            .uneven = true,
            .steps = StepKind::float16,
            .offset = kernels::kUnevenOffset};
  }
  static void read(const Byte* block, IntegerBlock& to) {
    to.step = read_word(block);
    read_nibbles(block + 2, 16, to.numbers);
  }
};

// 8 parts of 32 values. The scale of a part has 6 bits: 2 in a word for all parts, then 4.
struct Iq4Xs {
  static constexpr GgufBlock kBlock{256, 136};
  static IntegerLayout layout() {
    return {
        .low_bits = 4, .uneven = true, .steps = StepKind::bytes, .offset = kernels::kUnevenOffset};
  }
  static void read(const Byte* block, IntegerBlock& to) {
    to.step = read_word(block);
    const int high = read_word(block + 2);
    for (int part = 0; part < 8; ++part) {
      const int number = nibble(block[4 + part / 2], part % 2) | ((high >> (2 * part)) & 3) << 4;
      to.steps[part] = static_cast<std::int8_t>(number - 32);
      read_nibbles(block + 8 + 16 * part, 16, to.numbers + 32 * part);
    }
  }
};

template <class T>
concept HasIntegers = requires {
  T::layout();
};

template <class T>
concept IsSearched = requires(const float* values, Byte* block) {
  T::write(values, Importance(), block);
};

template <class T>
concept IsSearchedTogether = requires(std::span<const float> values, Byte* blocks) {
  T::write_several(values, Importance(), blocks);
};

template <class T>
concept Writable = IsSearched<T> || IsSearchedTogether<T> ||
    requires(const float* values, Byte* block) {
  T::write(values, block);
};

// Returns the importance of `count` values from value number `at` on.
Importance importance_of(Importance columns, std::size_t at, std::size_t count) {
  return columns.empty() ? columns : columns.subspan(at % columns.size(), count);
}

// Writes blocks of whole rows, or without importance of any number.
template <IsSearchedTogether Type>
void write_together(std::span<const float> values, Importance importance, Byte* block) {
  constexpr auto kElements = static_cast<std::size_t>(Type::kBlock.elements);
  const std::size_t row = importance.empty() ? values.size() : importance.size();
  for (std::size_t at = 0; at < values.size();) {
    const std::size_t count = std::min(Type::kTogether * kElements, row - at % row);
    Type::write_several(values.subspan(at, count), importance_of(importance, at, count), block);
    block += static_cast<Index>(count / kElements) * Type::kBlock.bytes;
    at += count;
  }
}

using Format = std::variant<F32, F16, Bf16, Q80, WrittenBlock<4, false>, SmallBlock<4, true>,
                            WrittenBlock<5, false>, WrittenBlock<5, true>, Q2K, Q3K, ScaledBlock<4>,
                            ScaledBlock<5>, Q6K, Iq4Nl, Iq4Xs>;

const std::map<GgufType, Format> kFormats{{GgufType::f32, F32{}},
                                          {GgufType::f16, F16{}},
                                          {GgufType::bf16, Bf16{}},
                                          {GgufType::q8_0, Q80{}},
                                          {GgufType::q4_0, WrittenBlock<4, false>{}},
                                          {GgufType::q4_1, SmallBlock<4, true>{}},
                                          {GgufType::q5_0, WrittenBlock<5, false>{}},
                                          {GgufType::q5_1, WrittenBlock<5, true>{}},
                                          {GgufType::q2_k, Q2K{}},
                                          {GgufType::q3_k, Q3K{}},
                                          {GgufType::q4_k, ScaledBlock<4>{}},
                                          {GgufType::q5_k, ScaledBlock<5>{}},
                                          {GgufType::q6_k, Q6K{}},
                                          {GgufType::iq4_nl, Iq4Nl{}},
                                          {GgufType::iq4_xs, Iq4Xs{}}};

}  // namespace

GgufBlock gguf_block(GgufType type) {
  return std::visit([](auto format) { return decltype(format)::kBlock; }, kFormats.at(type));
}

void dequantize_gguf(GgufType type, std::span<const std::byte> blocks, std::span<float> values) {
  const auto read_blocks = [&](auto format) {
    using Type = decltype(format);
    const auto [elements, bytes] = Type::kBlock;
    const auto* block = reinterpret_cast<const Byte*>(blocks.data());
    const float* end = values.data() + values.size();
    [[maybe_unused]] const std::optional<IntegerLayout> layout = gguf_integers(type);
    [[maybe_unused]] IntegerBlock integers;
    for (float* part = values.data(); part < end; part += elements, block += bytes) {
      if constexpr (HasIntegers<Type>) {
        Type::read(block, integers);
        kernels::block_values(*layout, integers, part);
      } else {
        Type::read(block, part);
      }
    }
  };
  std::visit(read_blocks, kFormats.at(type));
}

std::optional<IntegerLayout> gguf_integers(GgufType type) {
  return std::visit(
      [](auto format) -> std::optional<IntegerLayout> {
        if constexpr (HasIntegers<decltype(format)>) {
          return kernels::sized(decltype(format)::layout());
        }
        return std::nullopt;
      },
      kFormats.at(type));
}

bool pack_gguf_row(GgufType type, std::span<const std::byte> blocks, Index lane, void* panel) {
  constexpr unsigned kExponent = 0x7C00;  // all bits of a float16's exponent: infinite or NaN
  const std::optional<IntegerLayout> layout = gguf_integers(type);
  bool is_finite = true;
  const auto pack_blocks = [&](auto format) {
    using Type = decltype(format);
    if constexpr (HasIntegers<Type>) {
      const auto* block = reinterpret_cast<const Byte*>(blocks.data());
      const Index count = std::ssize(blocks) / Type::kBlock.bytes;
      IntegerBlock integers;
      for (Index i = 0; i < count; ++i, block += Type::kBlock.bytes) {
        Type::read(block, integers);
        is_finite = is_finite && (integers.step & kExponent) != kExponent &&
                    (integers.least & kExponent) != kExponent;
        kernels::pack_block(*layout, integers, i, lane, panel);
      }
    }
  };
  std::visit(pack_blocks, kFormats.at(type));
  return is_finite;
}

bool can_write_gguf(GgufType type) {
  return std::visit([](auto format) { return Writable<decltype(format)>; }, kFormats.at(type));
}

void quantize_gguf(GgufType type, std::span<const float> values, std::span<std::byte> blocks,
                   std::span<const float> importance) {
  const auto write_blocks = [&](auto format) {
    using Type = decltype(format);
    if constexpr (Writable<Type>) {
      const auto elements = static_cast<std::size_t>(Type::kBlock.elements);
      auto* block = reinterpret_cast<Byte*>(blocks.data());
      if constexpr (IsSearchedTogether<Type>) {
        write_together<Type>(values, importance, block);
      } else {
        for (std::size_t at = 0; at < values.size(); at += elements, block += Type::kBlock.bytes) {
          if constexpr (IsSearched<Type>) {
            Type::write(values.data() + at, importance_of(importance, at, elements), block);
          } else {
            Type::write(values.data() + at, block);
          }
        }
      }
    }
  };
  std::visit(write_blocks, kFormats.at(type));
}

}  // namespace headlight
