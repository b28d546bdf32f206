#pragma once

// std::to_chars and std::from_chars of floating-point numbers, which libc++ 13, the library of
// Debian's Emscripten, lacks. Included before every source of the WebAssembly build.
#ifdef __cplusplus
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#if _LIBCPP_VERSION < 15000
namespace std {
namespace missing_charconv {

inline to_chars_result copied(char* first, char* last, const string& text) {
  if (static_cast<size_t>(last - first) < text.size()) {
    return {last, errc::value_too_large};
  }
  memcpy(first, text.data(), text.size());
  return {first + text.size(), errc()};
}

inline string printed(const char* format, int precision, double value) {
  string text(400 + static_cast<size_t>(precision), '\0');
  text.resize(static_cast<size_t>(snprintf(text.data(), text.size(), format, precision, value)));
  return text;
}

// The fewest digits that identify a number, as "d.ddde+xx".
template <class T>
string shortest_scientific(T value) {
  for (int precision = 0;; ++precision) {
    string text = printed("%.*e", precision, static_cast<double>(value));
    if (precision >= 17 || static_cast<T>(strtod(text.c_str(), nullptr)) == value ||
        value != value) {
      return text;
    }
  }
}

// Moves the point of "d.ddde+xx", so that no exponent is needed.
inline string without_exponent(const string& scientific) {
  const size_t mark = scientific.find('e');
  if (mark == string::npos) {
    return scientific;  // inf, nan
  }
  const int exponent = atoi(scientific.c_str() + mark + 1);
  const bool is_negative = scientific[0] == '-';
  string digits;
  for (const char c : scientific.substr(0, mark)) {
    digits += c >= '0' && c <= '9' ? string(1, c) : string();
  }
  if (exponent < 0) {
    digits = "0." + string(static_cast<size_t>(-exponent - 1), '0') + digits;
  } else if (static_cast<size_t>(exponent) + 1 >= digits.size()) {
    digits += string(static_cast<size_t>(exponent) + 1 - digits.size(), '0');
  } else {
    digits.insert(static_cast<size_t>(exponent) + 1, 1, '.');
  }
  return (is_negative ? "-" : "") + digits;
}

template <class T>
to_chars_result shortest(char* first, char* last, T value) {
  const string scientific = shortest_scientific(value);
  const string fixed = without_exponent(scientific);
  return copied(first, last, fixed.size() <= scientific.size() ? fixed : scientific);
}

}  // namespace missing_charconv

inline to_chars_result to_chars(char* first, char* last, double value) {
  return missing_charconv::shortest(first, last, value);
}

inline to_chars_result to_chars(char* first, char* last, float value) {
  return missing_charconv::shortest(first, last, value);
}

inline to_chars_result to_chars(char* first, char* last, double value, chars_format format) {
  const string text = missing_charconv::shortest_scientific(value);
  return missing_charconv::copied(
      first, last, format == chars_format::fixed ? missing_charconv::without_exponent(text) : text);
}

inline to_chars_result to_chars(char* first, char* last, double value, chars_format format,
                                int precision) {
  const char* form = format == chars_format::fixed        ? "%.*f"
                     : format == chars_format::scientific ? "%.*e"
                                                          : "%.*g";
  return missing_charconv::copied(first, last, missing_charconv::printed(form, precision, value));
}

// Unlike strtod, accepts neither blanks nor '+' nor hexadecimal numbers at the beginning.
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const string text(first, last);
  const size_t start = text.empty() || text[0] != '-' ? 0 : 1;
  const bool is_hexadecimal = text.size() > start + 1 && (text[start + 1] | 0x20) == 'x';
  if (text.size() == start || strchr(" \t\n\v\f\r+-", text[start]) != nullptr) {
    return {first, errc::invalid_argument};
  }
  char* end = nullptr;
  const double number = is_hexadecimal ? 0 : strtod(text.c_str(), &end);
  const size_t used = is_hexadecimal ? start + 1 : static_cast<size_t>(end - text.c_str());
  if (used == 0) {
    return {first, errc::invalid_argument};
  }
  const bool is_beyond = number > 1.7976931348623157e308 || number < -1.7976931348623157e308;
  if (is_beyond && (text[start] | 0x20) != 'i') {
    return {first + used, errc::result_out_of_range};
  }
  value = number;
  return {first + used, errc()};
}

inline from_chars_result from_chars(const char* first, const char* last, float& value) {
  double number = 0;
  const from_chars_result result = std::from_chars(first, last, number);
  if (result.ec == errc()) {
    value = static_cast<float>(number);
  }
  return result;
}

}  // namespace std
#endif
#endif
