#pragma once

#include <cstddef>
#include <span>

#include "headlight/io/gguf.h"

namespace headlight {

// Reads whole blocks of a type into float32. The operations and their order are those of ggml's
// reference, dequantize_row_* in ggml-quants.c (and of gguf.quants of its Python package), each
// rounded to float32.
void dequantize_gguf(GgufType type, std::span<const std::byte> blocks, std::span<float> values);

// True for the types that quantize_gguf() writes: F32, F16, BF16 and Q8_0.
bool can_write_gguf(GgufType type);

// Writes whole blocks, as ggml's reference does. Throws Error for a value that the type cannot
// hold: one that F16 would make infinite, and in Q8_0 also one that is not finite.
void quantize_gguf(GgufType type, std::span<const float> values, std::span<std::byte> blocks);

}  // namespace headlight
