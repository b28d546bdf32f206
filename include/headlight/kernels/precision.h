#pragma once

#include <string_view>

namespace headlight {

// What the elements of float32 operands are rounded to in matrix products; sums are float32.
enum class Precision {
  float32,   // not at all
  bfloat16,  // to nearest, ties to even; needs a CPU with such products
};

// "float32" or "bfloat16". Throws Error for other names.
Precision parse_precision(std::string_view name);
std::string_view precision_name(Precision precision);

// Throws Error when this machine, or the CPU variant or products that were chosen, cannot compute
// so.
void require_precision(Precision precision);

}  // namespace headlight
