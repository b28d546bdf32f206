#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "headlight/formats/gguf/gguf.h"
#include "kernels/panels/integer_panels.h"

namespace headlight {

// Converts whole blocks of a type to float32. Operations, their order and the rounding to float32
// after each are as in ggml's reference: dequantize_row_* in ggml-quants.c, and gguf.quants of its
// Python package.
void dequantize_gguf(GgufType type, std::span<const std::byte> blocks, std::span<float> values);

// Returns the layout of panels with the numbers of a type; none for F32, F16 and BF16.
std::optional<kernels::IntegerLayout> gguf_integers(GgufType type);

// Packs one row, in whole blocks of a type with integers, as a lane of a panel. Returns false if a
// scale is infinite or NaN.
bool pack_gguf_row(GgufType type, std::span<const std::byte> blocks, Index lane, void* panel);

// True for the types that quantize_gguf() writes: F32, F16, BF16, Q8_0, Q6_K, Q5_K, Q4_K, Q5_1,
// Q5_0 and Q4_0.
bool can_write_gguf(GgufType type);

// Converts float32 to whole blocks. Scales of Q8_0 are as in ggml's reference, scales of the other
// integers are searched: see gguf_quantize.h. `importance` [C] has the weight of each column's
// squared error in that search; `values` are then whole rows. Empty: all columns are equal. Throws
// Error for a value that the type cannot hold: a finite value too large for F16, and for integers a
// value that is not finite.
void quantize_gguf(GgufType type, std::span<const float> values, std::span<std::byte> blocks,
                   std::span<const float> importance = {});

}  // namespace headlight
