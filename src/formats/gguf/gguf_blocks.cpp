#include "formats/gguf/gguf_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <variant>

#include "formats/gguf/gguf_header.h"
#include "headlight/base/error.h"
#include "io/float16.h"

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

int bit(Byte byte, int place) { return (byte >> place) & 1; }

int two_bits(Byte byte, int place) { return (byte >> (2 * place)) & 3; }

// Every type below has the size of its blocks and read(), which converts one block to values.
// Offsets are as in the structs block_* in ggml-common.h.

struct F32 {
  static constexpr GgufBlock kBlock{1, 4};
  static void read(const Byte* block, float* values) { std::memcpy(values, block, sizeof(float)); }
  static void write(const float* values, Byte* block) { std::memcpy(block, values, sizeof(float)); }
};

struct F16 {
  static constexpr GgufBlock kBlock{1, 2};
  static void read(const Byte* block, float* values) { *values = read_half(block); }
  static void write(const float* values, Byte* block) {
    const std::uint16_t half = float_to_half(*values);
    require(!std::isfinite(*values) || std::isfinite(half_to_float(half)), "contains ", *values,
            ", which is too large for F16");
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
  static void write(const float* values, Byte* block) { write_word(block, BFloat16(*values).bits); }
};

struct Q8_0 {
  static constexpr GgufBlock kBlock{32, 34};
  static void read(const Byte* block, float* values) {
    const float scale = read_half(block);
    for (int i = 0; i < 32; ++i) {
      values[i] = static_cast<float>(static_cast<std::int8_t>(block[2 + i])) * scale;
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

// Q4_0, Q4_1, Q5_0 and Q5_1: the scale, with kHasLeast the least value, with 5 bits the highest
// bits of all 32 numbers, then their lower bits. Without a least value, numbers are signed.
template <int kBits, bool kHasLeast>
struct SmallBlock {
  static constexpr int kHigh = kHasLeast ? 4 : 2;
  static constexpr int kLow = kBits == 5 ? kHigh + 4 : kHigh;
  static constexpr GgufBlock kBlock{32, kLow + 16};
  static void read(const Byte* block, float* values) {
    const float scale = read_half(block);
    [[maybe_unused]] const float least = read_half(block + 2);
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < 16; ++i) {
        const int place = 16 * half + i;
        int number = nibble(block[kLow + i], half);
        if constexpr (kBits == 5) {
          number |= bit(block[kHigh + place / 8], place % 8) << 4;
        }
        if constexpr (kHasLeast) {
          values[place] = scale * static_cast<float>(number) + least;
        } else {
          values[place] = scale * static_cast<float>(number - (1 << (kBits - 1)));
        }
      }
    }
  }
};

struct Q2K {
  static constexpr GgufBlock kBlock{256, 84};
  static void read(const Byte* block, float* values) {
    const Byte* scales = block;
    const float scale = read_half(block + 80);
    const float least_scale = read_half(block + 82);
    for (int part = 0; part < 16; ++part) {  // 16 values each; 8 parts share 32 bytes, at 4 shifts
      const Byte* numbers = block + 16 + 32 * (part / 8) + 16 * (part % 2);
      const int shift = part / 2 % 4;
      const float step = scale * static_cast<float>(nibble(scales[part], 0));
      const float least = least_scale * static_cast<float>(nibble(scales[part], 1));
      for (int i = 0; i < 16; ++i) {
        values[16 * part + i] = step * static_cast<float>(two_bits(numbers[i], shift)) - least;
      }
    }
  }
};

struct Q3K {
  static constexpr GgufBlock kBlock{256, 110};
  static void read(const Byte* block, float* values) {
    const float scale = read_half(block + 108);
    for (int part = 0; part < 16; ++part) {
      const Byte* low = block + 32 + 32 * (part / 8) + 16 * (part % 2);
      const Byte* high = block + 16 * (part % 2);
      const float step = scale * static_cast<float>(six_bits(block + 96, part) - 32);
      for (int i = 0; i < 16; ++i) {
        const int number = two_bits(low[i], part / 2 % 4) - 4 * (1 - bit(high[i], part / 2));
        values[16 * part + i] = step * static_cast<float>(number);
      }
    }
  }

 private:
  // Returns scale `part` of 16: 8 bytes hold the lower halves, then 4 bytes the upper two bits.
  static int six_bits(const Byte* scales, int part) {
    return nibble(scales[part % 8], part / 8) | two_bits(scales[8 + part % 4], part / 4) << 4;
  }
};

// Part of a Q4_K or Q5_K block. A block has 8 parts of 32 values, each with a scale and a least
// value of 6 bits, packed into 12 bytes.
struct ScaledPart {
  float step;
  float least;

  static ScaledPart of(const Byte* block, int part) {
    const Byte* packed = block + 4;
    int scale = packed[part % 4] & 0x3F;
    int least = packed[4 + part % 4] & 0x3F;
    if (part >= 4) {
      scale = nibble(packed[4 + part], 0) | (packed[part - 4] >> 6) << 4;
      least = nibble(packed[4 + part], 1) | (packed[part] >> 6) << 4;
    }
    return {read_half(block) * static_cast<float>(scale),
            read_half(block + 2) * static_cast<float>(least)};
  }
};

// Q4_K and Q5_K: with 5 bits, the highest bits of all numbers precede their lower bits.
template <int kBits>
struct ScaledBlock {
  static constexpr int kHigh = 16;
  static constexpr int kLow = kBits == 5 ? kHigh + 32 : kHigh;
  static constexpr GgufBlock kBlock{256, kLow + 128};
  static void read(const Byte* block, float* values) {
    for (int part = 0; part < 8; ++part) {
      const auto [step, least] = ScaledPart::of(block, part);
      const Byte* low = block + kLow + 32 * (part / 2);
      for (int i = 0; i < 32; ++i) {
        int number = nibble(low[i], part % 2);
        if constexpr (kBits == 5) {
          number |= bit(block[kHigh + i], part) << 4;
        }
        values[32 * part + i] = step * static_cast<float>(number) - least;
      }
    }
  }
};

struct Q6K {
  static constexpr GgufBlock kBlock{256, 210};
  static void read(const Byte* block, float* values) {
    const Byte* scales = block + 192;
    const float scale = read_half(block + 208);
    for (int part = 0; part < 16; ++part) {
      // Lower halves: two groups of 64 bytes; upper two bits: two groups of 32.
      const Byte* low = block + 64 * (part / 8) + 16 * (part % 4);
      const Byte* high = block + 128 + 32 * (part / 8) + 16 * (part % 2);
      const float step = scale * static_cast<float>(static_cast<std::int8_t>(scales[part]));
      for (int i = 0; i < 16; ++i) {
        const int number =
            (nibble(low[i], part / 4 % 2) | two_bits(high[i], part / 2 % 4) << 4) - 32;
        values[16 * part + i] = step * static_cast<float>(number);
      }
    }
  }
};

// Values of the 4-bit numbers in IQ4_NL and IQ4_XS: denser near 0, where most weights are.
constexpr float kUneven[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                               1,    13,   25,  38,  53,  69,  89,  113};

// Reads 32 values from 16 bytes.
void read_uneven(const Byte* block, float scale, float* values) {
  for (int i = 0; i < 32; ++i) {
    values[i] = scale * kUneven[nibble(block[i % 16], i / 16)];
  }
}

struct Iq4Nl {
  static constexpr GgufBlock kBlock{32, 18};
  static void read(const Byte* block, float* values) {
    read_uneven(block + 2, read_half(block), values);
  }
};

// 8 parts of 32 values. The scale of a part has 6 bits: 2 in a word for all parts, then 4.
struct Iq4Xs {
  static constexpr GgufBlock kBlock{256, 136};
  static void read(const Byte* block, float* values) {
    const float scale = read_half(block);
    const int high = read_word(block + 2);
    for (int part = 0; part < 8; ++part) {
      const int number = nibble(block[4 + part / 2], part % 2) | ((high >> (2 * part)) & 3) << 4;
      read_uneven(block + 8 + 16 * part, scale * static_cast<float>(number - 32),
                  values + 32 * part);
    }
  }
};

template <class T>
concept Writable = requires(const float* values, Byte* block) {
  T::write(values, block);
};

using Format = std::variant<F32, F16, Bf16, Q8_0, SmallBlock<4, false>, SmallBlock<4, true>,
                            SmallBlock<5, false>, SmallBlock<5, true>, Q2K, Q3K, ScaledBlock<4>,
                            ScaledBlock<5>, Q6K, Iq4Nl, Iq4Xs>;

const std::map<GgufType, Format> kFormats{{GgufType::f32, F32{}},
                                          {GgufType::f16, F16{}},
                                          {GgufType::bf16, Bf16{}},
                                          {GgufType::q8_0, Q8_0{}},
                                          {GgufType::q4_0, SmallBlock<4, false>{}},
                                          {GgufType::q4_1, SmallBlock<4, true>{}},
                                          {GgufType::q5_0, SmallBlock<5, false>{}},
                                          {GgufType::q5_1, SmallBlock<5, true>{}},
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
    const auto [elements, bytes] = decltype(format)::kBlock;
    const auto* block = reinterpret_cast<const Byte*>(blocks.data());
    const float* end = values.data() + values.size();
    for (float* part = values.data(); part < end; part += elements, block += bytes) {
      format.read(block, part);
    }
  };
  std::visit(read_blocks, kFormats.at(type));
}

bool can_write_gguf(GgufType type) {
  return std::visit([](auto format) { return Writable<decltype(format)>; }, kFormats.at(type));
}

void quantize_gguf(GgufType type, std::span<const float> values, std::span<std::byte> blocks) {
  const auto write_blocks = [&](auto format) {
    if constexpr (Writable<decltype(format)>) {
      const auto [elements, bytes] = decltype(format)::kBlock;
      auto* block = reinterpret_cast<Byte*>(blocks.data());
      const float* end = values.data() + values.size();
      for (const float* part = values.data(); part < end; part += elements, block += bytes) {
        format.write(part, block);
      }
    }
  };
  std::visit(write_blocks, kFormats.at(type));
}

}  // namespace headlight
