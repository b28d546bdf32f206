#pragma once

#include <span>

#include "kernels/panels/integer_panels.h"

// Rounding to integers with scales that make the weighted squared error small, as make_qx_quants
// and make_qkx2_quants of ggml-quants.c search them. Values must be finite. `importance` has a
// weight of the squared error of each value, at least 0; empty: all values are equally important.
namespace headlight {

// Fills at most 8 blocks of 32 values without factors: Q4_0 and Q5_0.
void quantize_signed(std::span<const float> values, std::span<const float> importance, int bits,
                     std::span<kernels::IntegerBlock> blocks);

// Fills a block with a least value and without factors: Q5_1. `least` is the number that GGUF adds.
void quantize_above_least(std::span<const float> values, std::span<const float> importance,
                          int bits, kernels::IntegerBlock& block);

// Fills a block of 8 parts of 32 values with 6-bit factors: Q4_K and Q5_K. `least` is the number
// that GGUF subtracts.
void quantize_parts(std::span<const float> values, std::span<const float> importance, int bits,
                    kernels::IntegerBlock& block);

// Fills a block of 16 parts of 16 values with int8 factors: Q6_K.
void quantize_signed_parts(std::span<const float> values, std::span<const float> importance,
                           kernels::IntegerBlock& block);

}  // namespace headlight
