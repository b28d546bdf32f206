#pragma once

#include <cstddef>
#include <span>

#include "headlight/formats/gguf/gguf.h"

namespace headlight {

// Converts whole blocks of a type to float32. Operations, their order and the rounding to float32
// after each are as in ggml's reference: dequantize_row_* in ggml-quants.c, and gguf.quants of its
// Python package.
void dequantize_gguf(GgufType type, std::span<const std::byte> blocks, std::span<float> values);

// True for the types that quantize_gguf() writes: F32, F16, BF16 and Q8_0.
bool can_write_gguf(GgufType type);

// Converts float32 to whole blocks like ggml's reference. Throws Error for a value that the type
// cannot hold: a finite value too large for F16, and for Q8_0 also a value that is not finite.
void quantize_gguf(GgufType type, std::span<const float> values, std::span<std::byte> blocks);

}  // namespace headlight
