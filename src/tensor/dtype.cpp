#include "headlight/tensor/dtype.h"

#include <array>
#include <cmath>
#include <ostream>

namespace headlight {
BFloat16::BFloat16(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) {
    bits = static_cast<std::uint16_t>((word >> 16) | 0x40U);
    return;
  }
  const std::uint32_t ties_to_even = 0x7FFFU + ((word >> 16) & 1U);
  bits = static_cast<std::uint16_t>((word + ties_to_even) >> 16);
}

std::size_t element_size(DType dtype) {
  constexpr std::array<std::size_t, kChoices<DType>.size()> kBytes{4, 8, 2, 4, 1};
  return kBytes[static_cast<std::size_t>(dtype)];
}

bool is_floating(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::bfloat16;
}

void append_text(std::string& out, DType dtype) { out += name_of(dtype); }

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

}  // namespace headlight
