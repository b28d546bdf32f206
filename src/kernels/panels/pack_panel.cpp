#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/panels/panels.h"

namespace headlight::kernels {
namespace {

constexpr float kLargestInteger = 127;

// 32 consecutive weights of a row as scale * q, padded with 0 after the row's end. Vectorised,
// because loading a model waits for it before the first token.
struct QuantizedBlock {
  QuantizedBlock(const float* weights, Index count) {
    float padded[kScaleBlock] = {};
    std::copy_n(weights, count, padded);
    std::int32_t largest = 0;  // magnitudes as bits, so that NaN compares above all numbers
    for (const float weight : padded) {
      largest = std::max(largest, std::bit_cast<std::int32_t>(weight) & 0x7FFFFFFF);
    }
    scale = std::bit_cast<float>(largest) / kLargestInteger;
    // If the scale is infinite or NaN, the products are NaN for any q.
    if (scale > 0 && scale < std::numeric_limits<float>::infinity()) {
      for (Index k = 0; k < kScaleBlock; ++k) {
        constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
        const float whole = (padded[k] / scale + kRound) - kRound;
        q[k] = static_cast<std::int32_t>(std::clamp(whole, -kLargestInteger, kLargestInteger));
      }
    }
  }

  float scale = 0;
  std::int32_t q[kScaleBlock] = {};
};

// Sets the words of rows, word_of(row, group), in a panel [groups, 16], from `lane` on. Takes a few
// groups of all rows at a time: their lines of memory then stay in the first-level cache.
template <class WordOf>
void set_words(Index rows, Index groups, Index lane, void* panel, const WordOf& word_of) {
  constexpr Index kTogether = 16;
  auto* words = static_cast<std::uint32_t*>(panel) + lane;
  for (Index begin = 0; begin < groups; begin += kTogether) {
    const Index end = std::min(begin + kTogether, groups);
    for (Index row = 0; row < rows; ++row) {
      for (Index group = begin; group < end; ++group) {
        words[group * kPanelRows + row] = word_of(row, group);
      }
    }
  }
}

// Sets words of two columns, pair_of(row, first column), and of a last single column.
template <class BitsOf, class PairOf>
void set_pairs(Index rows, Index columns, Index lane, void* panel, const BitsOf& bits_of,
               const PairOf& pair_of) {
  const Index pairs = columns / 2;
  set_words(rows, pairs, lane, panel,
            [&](Index row, Index pair) { return pair_of(row, 2 * pair); });
  set_words(rows, columns % 2, lane, static_cast<std::uint32_t*>(panel) + pairs * kPanelRows,
            [&](Index row, Index) { return bits_of(row, columns - 1); });
}

void pack_int8(const float* row, Index columns, void* panel, Index lane) {
  const IntegerLayout layout = int8_layout();
  for (Index block = 0; block * kScaleBlock < columns; ++block) {
    const QuantizedBlock quantized(row + block * kScaleBlock,
                                   std::min(kScaleBlock, columns - block * kScaleBlock));
    IntegerBlock packed;
    packed.step = std::bit_cast<std::uint32_t>(quantized.scale);
    std::transform(quantized.q, quantized.q + kScaleBlock, packed.numbers,
                   [&](std::int32_t q) { return static_cast<std::uint8_t>(q + layout.offset); });
    pack_block(layout, packed, block, lane, panel);
  }
}

// Returns a lane's word of a group of a packed panel.
std::uint32_t word_at(const void* panel, Index group, Index lane) {
  return static_cast<const std::uint32_t*>(panel)[group * kPanelRows + lane];
}

void unpack_float32(const void* panel, Index lane, Index columns, float* row) {
  for (Index k = 0; k < columns; ++k) {
    row[k] = std::bit_cast<float>(word_at(panel, k, lane));
  }
}

void unpack_bfloat16(const void* panel, Index lane, Index columns, float* row) {
  for (Index k = 0; k < columns; ++k) {
    const std::uint32_t word = word_at(panel, k / 2, lane);
    row[k] = std::bit_cast<float>(k % 2 == 0 ? word << 16 : word & 0xFFFF0000U);
  }
}

void unpack_integers(const IntegerLayout& layout, const void* panel, Index lane, Index columns,
                     float* row) {
  const Index span = span_columns(layout);
  IntegerBlock block;
  for (Index begin = 0; begin < columns; begin += span) {
    unpack_block(layout, panel, begin / span, lane, block);
    if (begin + span <= columns) {
      block_values(layout, block, row + begin);
    } else {
      float values[kLargestSpan];
      block_values(layout, block, values);
      std::copy_n(values, columns - begin, row + begin);
    }
  }
}

}  // namespace

Index panel_bytes(const PanelLayout& layout, Index columns) {
  constexpr Index kLine = 64;
  if (layout.format == WeightFormat::int8) {
    const Index spans = divided_up(columns, span_columns(layout.integers));
    return divided_up(spans * layout.integers.span_bytes, kLine) * kLine;
  }
  return (layout.format == WeightFormat::bfloat16 ? divided_up(columns, 2) : columns) * kPanelRows *
         4;
}

void pack_panel(WeightFormat format, const float* weights, Index rows, Index columns, Index lane,
                void* panel) {
  if (format == WeightFormat::int8) {
    for (Index row = 0; row < rows; ++row) {
      pack_int8(weights + row * columns, columns, panel, lane + row);
    }
  } else if (format == WeightFormat::bfloat16) {
    const auto bits = [=](Index row, Index column) {
      return std::uint32_t{BFloat16(weights[row * columns + column]).bits};
    };
    set_pairs(rows, columns, lane, panel, bits, [&](Index row, Index column) {
      return bits(row, column) | bits(row, column + 1) << 16;
    });
  } else {
    set_words(rows, columns, lane, panel, [=](Index row, Index column) {
      return std::bit_cast<std::uint32_t>(weights[row * columns + column]);
    });
  }
}

void pack_panel(const BFloat16* weights, Index rows, Index columns, Index lane, void* panel) {
  const auto bits = [=](Index row, Index column) {
    return std::uint32_t{weights[row * columns + column].bits};
  };
  set_pairs(rows, columns, lane, panel, bits, [=](Index row, Index column) {
    std::uint32_t pair = 0;
    std::memcpy(&pair, weights + row * columns + column, sizeof pair);
    return pair;
  });
}

void unpack_row(const PanelLayout& layout, const void* panel, Index lane, Index columns,
                float* row) {
  if (layout.format == WeightFormat::int8) {
    unpack_integers(layout.integers, panel, lane, columns, row);
  } else if (layout.format == WeightFormat::bfloat16) {
    unpack_bfloat16(panel, lane, columns, row);
  } else {
    unpack_float32(panel, lane, columns, row);
  }
}

void unpack_panel(const PanelLayout& layout, const void* panel, Index rows, Index columns,
                  float* weights) {
  for (Index lane = 0; lane < rows; ++lane) {
    unpack_row(layout, panel, lane, columns, weights + lane * columns);
  }
}

void round_row(WeightFormat format, float* row, Index columns) {
  if (format == WeightFormat::bfloat16) {
    for (Index k = 0; k < columns; ++k) {
      row[k] = static_cast<float>(BFloat16(row[k]));
    }
  } else if (format == WeightFormat::int8) {
    for (Index begin = 0; begin < columns; begin += kScaleBlock) {
      const Index count = std::min(kScaleBlock, columns - begin);
      const QuantizedBlock quantized(row + begin, count);
      for (Index k = 0; k < count; ++k) {
        row[begin + k] = quantized.scale * static_cast<float>(quantized.q[k]);
      }
    }
  }
}

}  // namespace headlight::kernels
