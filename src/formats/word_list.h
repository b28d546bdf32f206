#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace headlight {

// Returns the words of a list that is written as one text, with single blanks between them.
inline std::vector<std::string_view> words_of(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    words.push_back(list.substr(0, list.find(' ')));
    list.remove_prefix(std::min(words.back().size() + 1, list.size()));
  }
  return words;
}

inline bool has_word(std::string_view list, std::string_view word) {
  return std::ranges::count(words_of(list), word) > 0;
}

}  // namespace headlight
