#pragma once

#include "headlight/base/choices.h"

namespace headlight {

// What the elements of float32 operands are rounded to in matrix products; sums are float32.
enum class Precision {
  float32,   // not at all
  bfloat16,  // to nearest, ties to even; needs a CPU with such products
};

template <>
inline constexpr auto kChoices<Precision> = std::to_array<Choice<Precision>>(
    {{"float32", Precision::float32}, {"bfloat16", Precision::bfloat16}});

// Throws Error when this machine, or the CPU variant or products that were chosen, cannot compute
// so.
void require_precision(Precision precision);

}  // namespace headlight
