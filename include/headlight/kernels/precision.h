#pragma once

#include "headlight/base/choices.h"

namespace headlight {

// Rounding of the elements of float32 operands in matrix products; sums are float32.
enum class Precision {
  float32,   // no rounding
  bfloat16,  // to nearest, ties to even; needs a CPU with bfloat16 products
};

template <>
inline constexpr auto kChoices<Precision> = std::to_array<Choice<Precision>>(
    {{"float32", Precision::float32}, {"bfloat16", Precision::bfloat16}});

// Throws Error if the machine, or the selected CPU variant or products, do not support `precision`.
void require_precision(Precision precision);

}  // namespace headlight
