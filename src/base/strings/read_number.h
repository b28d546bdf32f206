#pragma once

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace headlight {

// Parses all of `text` as a number; none if it is empty, has other characters or does not fit T.
template <class T>
std::optional<T> read_number(std::string_view text) {
  T number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

// Returns a number with the fewest digits that identify it.
inline std::string shortest_text(double number) {
  std::array<char, 32> digits;
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

}  // namespace headlight
