#pragma once

#include <cstdint>

#include "headlight/tensor/shape.h"

// Panels of integers: int8 weights, and the types of GGUF files, whose numbers stay as they are
// stored.
namespace headlight::kernels {

struct PanelProduct;
template <class T>
struct MatrixView;

// int8 and GGUF: columns that are multiplied at once.
inline constexpr Index kScaleBlock = 32;
// Columns of the largest IntegerBlock.
inline constexpr Index kLargestSpan = 256;

// Storage of the steps.
enum class StepKind {
  float32,  // one for 32 columns
  float16,  // one for 32 columns
  bytes,    // one for 256 columns, times an int8 for each group
};

// A weight is step * (number - offset) + least. A number has low_bits and, above them, high_bits;
// if `uneven`, it is looked up in kUnevenNumbers. A group of 32 / groups columns has a step and, if
// has_least, a least value.
//
// A panel is a list of spans of 1 or 8 blocks of 32 columns. A span begins with its header: 16
// steps, then 16 least values, float16 (steps: as StepKind). Each block begins with the bytes of
// StepKind::bytes: [groups, 16] for steps, then for least values. Numbers follow in planes, the low
// bits first. A plane of b bits is [b, 16] words of 32 bits. A word has 16 / b pairs of adjacent
// columns, b bits of each column: the first columns are in the lower half, the lowest pair first.
struct IntegerLayout {
  bool operator==(const IntegerLayout&) const = default;

  int low_bits = 8;   // 8, 4 or 2
  int high_bits = 0;  // 0, 1 or 2
  bool uneven = false;
  int groups = 1;  // in 32 columns: 1 or 2
  StepKind steps = StepKind::float32;
  bool has_least = false;
  int offset = 0;
  // Sizes, set by sized().
  Index span_shift = 0;  // a span has 2^span_shift blocks
  Index header_bytes = 0;
  Index factor_bytes = 0;  // at the beginning of a block
  Index block_bytes = 0;
  Index span_bytes = 0;
};

// Returns the layout with its sizes.
IntegerLayout sized(IntegerLayout layout);

// Layout of WeightFormat::int8.
IntegerLayout int8_layout();

// Values of 4-bit numbers in GGUF's IQ4_NL and IQ4_XS, plus their offset: denser near 0, where most
// weights are.
inline constexpr int kUnevenOffset = 127;
inline constexpr std::uint8_t kUnevenNumbers[16] = {0,   23,  44,  62,  78,  92,  105, 117,
                                                    128, 140, 152, 165, 180, 196, 216, 240};

// Weights of one row in a span of columns.
struct IntegerBlock {
  std::uint32_t step = 0;                   // bits of a float16; StepKind::float32: of a float32
  std::uint16_t least = 0;                  // bits of a float16
  std::int8_t steps[16] = {};               // factors of groups; StepKind::bytes only
  std::int8_t leasts[16] = {};              // as `steps`
  std::uint8_t numbers[kLargestSpan] = {};  // before the look-up
  bool operator==(const IntegerBlock&) const = default;
};

// Returns the columns of an IntegerBlock.
inline Index span_columns(const IntegerLayout& layout) { return kScaleBlock << layout.span_shift; }

// Writes span number `span` of a row to a panel whose lane is 0.
void pack_block(const IntegerLayout& layout, const IntegerBlock& block, Index span, Index lane,
                void* panel);
// Sets what the layout has; factors and numbers that it lacks stay.
void unpack_block(const IntegerLayout& layout, const void* panel, Index span, Index lane,
                  IntegerBlock& block);
// Writes the weights of a block, which are rounded to float32 after each operation.
void block_values(const IntegerLayout& layout, const IntegerBlock& block, float* values);

// y = x times panels, for rows of x that round_strip() has rounded.
struct StripProduct {
  const PanelProduct& panels;    // without x
  const char* strips = nullptr;  // of the first row
  void* unpacked = nullptr;      // memory for the blocks of a row
  bool adds = false;             // y += the products
};

// Memory for a rounded strip, and for the differences from x, rounded in the same way.
struct StripMemory {
  void* strip = nullptr;
  void* rest = nullptr;  // may be null
};

struct IntegerPanels {
  void (*multiply)(const IntegerLayout& layout, const PanelProduct& product);

  // Products with x as bytes, for many rows. A block of 32 columns of x has a scale, a 127th of its
  // largest element. Only instruction sets that multiply bytes much faster have these.
  Index strip_rows = 0;      // 0: none
  Index strip_bytes = 0;     // of a block of columns
  Index unpacked_bytes = 0;  // of a block of columns
  void (*round_strip)(const MatrixView<float>& x, Index rows, Index columns,
                      const StripMemory& to) = nullptr;
  void (*multiply_strips)(const IntegerLayout& layout, const StripProduct& product) = nullptr;
};

// Returns the table for the variant in use.
const IntegerPanels& integer_panels();
// With or without instructions that add up products: the same bits. Only for has_dot_products().
const IntegerPanels& integer_panels(bool with_dot_products);

}  // namespace headlight::kernels
