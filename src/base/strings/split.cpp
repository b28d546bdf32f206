#include "base/strings/split.h"

#include <algorithm>

namespace headlight {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::size_t first = std::min(text.find_first_not_of(' ', begin), end);
    const std::size_t last = text.find_last_not_of(' ', end - 1);
    parts.push_back(first < end ? text.substr(first, last + 1 - first) : "");
    begin = end + 1;
  }
  return parts;
}

std::vector<std::string> split_at(char at, std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string joined(const std::vector<std::string>& texts, const std::string& between) {
  std::string all;
  for (const std::string& text : texts) {
    all += (&text == &texts.front() ? "" : between) + text;
  }
  return all;
}

}  // namespace headlight
