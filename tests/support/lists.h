#pragma once

#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

// Lists, texts and sums that a function gives.
namespace headlight::test {

// Returns f(element) of each element of a range.
template <class T, class Range, class F>
std::vector<T> mapped(Range&& range, const F& f) {
  std::vector<T> values;
  for (auto&& element : range) {
    values.push_back(f(element));
  }
  return values;
}

// Returns f(0), f(1) ... f(count - 1).
template <class T, class Count, class F>
std::vector<T> counted(Count count, const F& f) {
  std::vector<T> values;
  for (Count i = 0; i < count; ++i) {
    values.push_back(f(i));
  }
  return values;
}

// Returns the texts f(0), f(1) ... f(count - 1) behind each other.
template <class F>
std::string joined(int count, const F& f) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += f(i);
  }
  return text;
}

// Returns the sum of f(element) of all elements of a range.
template <class T, class Range, class F>
T sum_of(Range&& range, const F& f) {
  T sum{};
  for (auto&& element : range) {
    sum += f(element);
  }
  return sum;
}

inline std::string repeated(std::string_view text, std::size_t count) {
  std::string result(text);
  const std::size_t size = text.size() * count;
  result.reserve(size);
  while (result.size() < size) {  // twice as long each time
    result.append(result, 0, size - result.size());
  }
  return result.substr(0, size);
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

// Returns a group of each match of a pattern; 0: the whole match.
inline std::vector<std::string> matches_of(const std::string& text, const std::regex& pattern,
                                           int group = 1) {
  return {std::sregex_token_iterator(text.begin(), text.end(), pattern, group), {}};
}

}  // namespace headlight::test
