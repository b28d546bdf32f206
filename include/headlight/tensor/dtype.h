#pragma once

#include <bit>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>

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
  constexpr bool kIsInteger = std::is_same_v<T, std::int32_t>;
  constexpr bool kIsBoolean = std::is_same_v<T, bool>;
  constexpr bool kIsBrain = std::is_same_v<T, BFloat16>;
  constexpr bool kIsDouble = std::is_same_v<T, double>;
  static_assert(kIsInteger || kIsBoolean || kIsBrain || kIsDouble || std::is_same_v<T, float>,
                "a tensor holds float, double, BFloat16, std::int32_t (token ids) or bool");
  return kIsInteger   ? DType::int32
         : kIsBoolean ? DType::boolean
         : kIsBrain   ? DType::bfloat16
         : kIsDouble  ? DType::float64
                      : DType::float32;
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
