#include "show/report/parts/numbers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/strings/zero_padded.h"

namespace headlight {

std::string fixed_number(double value, int decimals) {
  // The longest double has 309 digits before its point.
  std::array<char, 400> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, std::min(decimals, 20));
  return {text.data(), end.ptr};
}

std::string signed_number(double value, int decimals) {
  return (std::signbit(value) ? "" : "+") + fixed_number(value, decimals);
}

std::string grouped(Index value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t position = digits.size(); position > first + 3;) {
    position -= 3;
    digits.insert(position, ",");
  }
  return digits;
}

std::string counted(Index count, const std::string& noun) {
  return grouped(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return fixed_number(bytes, unit == 0 ? 0 : 1) + " " + kUnits[unit];
}

std::string duration_text(double seconds) {
  const Index whole = std::llround(seconds);
  const std::string end = ":" + zero_padded(whole % 60, 2);
  return whole < 3600 ? std::to_string(whole / 60) + end
                      : std::to_string(whole / 3600) + ":" + zero_padded(whole / 60 % 60, 2) + end;
}

}  // namespace headlight
