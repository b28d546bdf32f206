#include "headlight/tensor/dtype.h"

#include <array>
#include <cmath>
#include <ostream>
#include <utility>

namespace headlight {
namespace {

struct DTypeEntry {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<DTypeEntry, 5> kDTypes{{
    {DType::float32, "float32", 4},
    {DType::float64, "float64", 8},
    {DType::bfloat16, "bfloat16", 2},
    {DType::int32, "int32", 4},
    {DType::boolean, "bool", 1},
}};

const DTypeEntry& entry(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

}  // namespace

BFloat16::BFloat16(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) {
    bits = static_cast<std::uint16_t>((word >> 16) | 0x40U);
    return;
  }
  const std::uint32_t ties_to_even = 0x7FFFU + ((word >> 16) & 1U);
  bits = static_cast<std::uint16_t>((word + ties_to_even) >> 16);
}

std::size_t element_size(DType dtype) { return entry(dtype).bytes; }

std::string_view dtype_name(DType dtype) { return entry(dtype).name; }

DType parse_dtype(std::string_view name) {
  for (const DTypeEntry& candidate : kDTypes) {
    if (candidate.name == name) {
      return candidate.dtype;
    }
  }
  fail("[dtype] expected float32, float64, bfloat16, int32 or bool, got '", name, "'");
}

bool is_floating(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::bfloat16;
}

void append_text(std::string& out, DType dtype) { out += dtype_name(dtype); }

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << dtype_name(dtype); }

}  // namespace headlight
