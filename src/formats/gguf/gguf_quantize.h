#pragma once

#include <span>

#include "kernels/panels/integer_panels.h"

// Rounding to integers as in quantize_row_*_ref of ggml-quants.c. Values must be finite.
namespace headlight {

// Fills a block without factors: Q4_0. The largest magnitude becomes the most negative number.
void quantize_signed(std::span<const float> values, int bits, kernels::IntegerBlock& block);

// Fills a block of 8 parts of 32 values with 6-bit factors: Q4_K and Q5_K. `least` is the number
// that GGUF subtracts.
void quantize_parts(std::span<const float> values, int bits, kernels::IntegerBlock& block);

// Fills a block of 16 parts of 16 values with int8 factors: Q6_K.
void quantize_signed_parts(std::span<const float> values, kernels::IntegerBlock& block);

}  // namespace headlight
