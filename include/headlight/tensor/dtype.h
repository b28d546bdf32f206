#pragma once

#include <bit>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "headlight/base/choices.h"
#include "headlight/base/error.h"

namespace headlight {

// Element types. Computations use float32 and float64. bfloat16 is for storage (see convert()),
// int32 for token ids, boolean for masks.
enum class DType : std::uint8_t { float32, float64, bfloat16, int32, boolean };

template <>
inline constexpr auto kChoices<DType> = std::to_array<Choice<DType>>({{"float32", DType::float32},
                                                                      {"float64", DType::float64},
                                                                      {"bfloat16", DType::bfloat16},
                                                                      {"int32", DType::int32},
                                                                      {"bool", DType::boolean}});

// A brain floating-point number: the upper 16 bits of a float32.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  // Rounds to the nearest representable value, ties to even; NaN stays NaN.
  explicit BFloat16(float value);
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

// Returns the bytes of one element.
std::size_t element_size(DType dtype);

bool is_floating(DType dtype);

// Appends the name.
void append_text(std::string& out, DType dtype);
std::ostream& operator<<(std::ostream& out, DType dtype);

// Returns the DType of a C++ type: dtype_of<float>() == DType::float32.
// Other types do not compile.
template <class T>
constexpr DType dtype_of() {
  static_assert(sizeof(T) == 0,
                "a tensor holds float, double, BFloat16, std::int32_t (token ids) or bool");
  return {};
}
template <>
constexpr DType dtype_of<float>() {
  return DType::float32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::float64;
}
template <>
constexpr DType dtype_of<BFloat16>() {
  return DType::bfloat16;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::int32;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::boolean;
}

// Calls `body(T{})` with T = float or double. Throws Error with `where` for other types.
template <class Body>
decltype(auto) dispatch_floating(DType dtype, std::string_view where, Body&& body) {
  if (dtype == DType::float64) {
    return body(double{});
  }
  require(dtype == DType::float32, "[", where, "] expected float32 or float64, got ", dtype);
  return body(float{});
}

// Calls `body(T{})` with the C++ type of any dtype.
template <class Body>
decltype(auto) dispatch_any(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::float64:
      return body(double{});
    case DType::bfloat16:
      return body(BFloat16{});
    case DType::int32:
      return body(std::int32_t{});
    case DType::boolean:
      return body(bool{});
    case DType::float32:
      break;
  }
  return body(float{});
}

}  // namespace headlight
