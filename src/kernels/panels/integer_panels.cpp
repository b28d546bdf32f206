#include "kernels/panels/integer_panels.h"

#include <bit>
#include <cstring>

#include "kernels/panels/panels.h"
#include "tensor/float16.h"

namespace headlight::kernels {
namespace {

constexpr Index kPlaneBytes = kPanelRows * 4;  // for each bit

// Adds bits [kShift, kShift + kBits) of 32 numbers to a plane; `words` is the lane's first word.
template <int kBits, int kShift>
void pack_plane(const std::uint8_t* numbers, std::uint32_t* words) {
  constexpr int kPairs = 16 / kBits;  // in a word
  constexpr std::uint32_t kMask = (1U << kBits) - 1;
  for (int w = 0; w < kBits; ++w, numbers += 2 * kPairs) {
    std::uint32_t word = 0;
    for (int pair = 0; pair < kPairs; ++pair) {
      word |= (numbers[2 * pair] >> kShift & kMask) << (kBits * pair);
      word |= (numbers[2 * pair + 1] >> kShift & kMask) << (16 + kBits * pair);
    }
    words[w * kPanelRows] = word;
  }
}

// Reads a plane as pack_plane() writes it: sets the numbers for kShift 0, else adds to them.
template <int kBits, int kShift>
void unpack_plane(const std::uint32_t* words, std::uint8_t* numbers) {
  constexpr int kPairs = 16 / kBits;
  constexpr std::uint32_t kMask = (1U << kBits) - 1;
  for (int w = 0; w < kBits; ++w) {
    const std::uint32_t word = words[w * kPanelRows];
    for (int pair = 0; pair < kPairs; ++pair, numbers += 2) {
      const std::uint32_t both = word >> (kBits * pair) & (kMask | kMask << 16);
      std::uint16_t bytes = 0;  // a pair is stored at once
      if constexpr (kShift > 0) {
        std::memcpy(&bytes, numbers, sizeof bytes);
      }
      bytes = static_cast<std::uint16_t>(bytes | (both | both >> 8) << kShift);
      std::memcpy(numbers, &bytes, sizeof bytes);
    }
  }
}

// Calls use(Constant of bits, Constant of shift, first byte) for the planes of a layout. The bytes
// are counted from the first plane on.
template <class Use>
void for_planes(const IntegerLayout& layout, const Use& use) {
  using std::integral_constant;
  const auto high = [&](auto shift) {
    const Index begin = shift * kPlaneBytes;
    if (layout.high_bits == 1) {
      use(integral_constant<int, 1>(), shift, begin);
    } else if (layout.high_bits == 2) {
      use(integral_constant<int, 2>(), shift, begin);
    }
  };
  const integral_constant<int, 0> none;
  if (layout.low_bits == 8) {
    use(integral_constant<int, 8>(), none, Index{0});
  } else if (layout.low_bits == 4) {
    use(integral_constant<int, 4>(), none, Index{0});
    high(integral_constant<int, 4>());
  } else {
    use(integral_constant<int, 2>(), none, Index{0});
    high(integral_constant<int, 2>());
  }
}

// Offsets of one lane's values in a span of a panel.
struct LaneOfSpan {
  LaneOfSpan(const IntegerLayout& its_layout, Index span, Index its_lane)
      : layout(its_layout), begin(span * its_layout.span_bytes), lane(its_lane) {}

  Index step() const { return begin + lane * (layout.steps == StepKind::float32 ? 4 : 2); }
  Index least() const { return begin + 2 * (kPanelRows + lane); }
  Index block(Index number) const {
    return begin + layout.header_bytes + number * layout.block_bytes;
  }
  // Returns the offset of the factor of a group of the span.
  Index factor(Index group) const {
    return block(group / layout.groups) + group % layout.groups * kPanelRows + lane;
  }
  Index least_factor(Index group) const { return factor(group) + layout.groups * kPanelRows; }
  // Returns the offset of the first word in a plane of a block.
  Index words(Index number, Index plane) const {
    return block(number) + layout.factor_bytes + plane + 4 * lane;
  }

  const IntegerLayout& layout;
  Index begin;
  Index lane;
};

template <class T>
T* element_at(void* panel, Index byte) {
  return reinterpret_cast<T*>(static_cast<char*>(panel) + byte);
}

template <class T>
const T* element_at(const void* panel, Index byte) {
  return reinterpret_cast<const T*>(static_cast<const char*>(panel) + byte);
}

}  // namespace

IntegerLayout sized(IntegerLayout layout) {
  const Index values = layout.has_least ? 2 : 1;
  const bool has_factors = layout.steps == StepKind::bytes;
  layout.span_shift = has_factors ? 3 : 0;
  layout.header_bytes = kPanelRows * (layout.steps == StepKind::float32 ? 4 : 2 * values);
  layout.factor_bytes = has_factors ? kPanelRows * layout.groups * values : 0;
  layout.block_bytes = layout.factor_bytes + (layout.low_bits + layout.high_bits) * kPlaneBytes;
  layout.span_bytes = layout.header_bytes + (layout.block_bytes << layout.span_shift);
  return layout;
}

IntegerLayout int8_layout() { return sized({.offset = 128}); }

void pack_block(const IntegerLayout& layout, const IntegerBlock& block, Index span, Index lane,
                void* panel) {
  const LaneOfSpan offsets(layout, span, lane);
  if (layout.steps == StepKind::float32) {
    *element_at<std::uint32_t>(panel, offsets.step()) = block.step;
  } else {
    *element_at<std::uint16_t>(panel, offsets.step()) = static_cast<std::uint16_t>(block.step);
  }
  if (layout.has_least) {
    *element_at<std::uint16_t>(panel, offsets.least()) = block.least;
  }
  const Index blocks = Index{1} << layout.span_shift;
  for (Index group = 0; layout.factor_bytes > 0 && group < blocks * layout.groups; ++group) {
    *element_at<std::int8_t>(panel, offsets.factor(group)) = block.steps[group];
    if (layout.has_least) {
      *element_at<std::int8_t>(panel, offsets.least_factor(group)) = block.leasts[group];
    }
  }
  for_planes(layout, [&](auto bits, auto shift, Index plane) {
    for (Index number = 0; number < blocks; ++number) {
      pack_plane<bits, shift>(block.numbers + number * kScaleBlock,
                              element_at<std::uint32_t>(panel, offsets.words(number, plane)));
    }
  });
}

void unpack_block(const IntegerLayout& layout, const void* panel, Index span, Index lane,
                  IntegerBlock& block) {
  const LaneOfSpan offsets(layout, span, lane);
  block.step = layout.steps == StepKind::float32
                   ? *element_at<std::uint32_t>(panel, offsets.step())
                   : *element_at<std::uint16_t>(panel, offsets.step());
  block.least =
      layout.has_least ? *element_at<std::uint16_t>(panel, offsets.least()) : std::uint16_t{0};
  const Index blocks = Index{1} << layout.span_shift;
  for (Index group = 0; layout.factor_bytes > 0 && group < blocks * layout.groups; ++group) {
    block.steps[group] = *element_at<std::int8_t>(panel, offsets.factor(group));
    if (layout.has_least) {
      block.leasts[group] = *element_at<std::int8_t>(panel, offsets.least_factor(group));
    }
  }
  for_planes(layout, [&](auto bits, auto shift, Index plane) {
    for (Index number = 0; number < blocks; ++number) {
      unpack_plane<bits, shift>(element_at<std::uint32_t>(panel, offsets.words(number, plane)),
                                block.numbers + number * kScaleBlock);
    }
  });
}

void block_values(const IntegerLayout& layout, const IntegerBlock& block, float* values) {
  const float whole_step = layout.steps == StepKind::float32
                               ? std::bit_cast<float>(block.step)
                               : half_to_float(static_cast<std::uint16_t>(block.step));
  const float whole_least = half_to_float(block.least);
  const Index groups = Index{layout.groups} << layout.span_shift;
  const Index width = kScaleBlock / layout.groups;
  const bool has_factors = layout.factor_bytes > 0;
  for (Index group = 0; group < groups; ++group) {
    const float step =
        has_factors ? whole_step * static_cast<float>(block.steps[group]) : whole_step;
    const float least =
        has_factors ? whole_least * static_cast<float>(block.leasts[group]) : whole_least;
    for (Index i = group * width; i < (group + 1) * width; ++i) {
      const int number = layout.uneven ? kUnevenNumbers[block.numbers[i]] : block.numbers[i];
      const float product = step * static_cast<float>(number - layout.offset);
      values[i] = layout.has_least ? product + least : product;
    }
  }
}

}  // namespace headlight::kernels
