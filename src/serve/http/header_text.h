#pragma once

#include <string_view>

#include "base/lower_case.h"

// Helpers for header values, which often ignore case and outer blanks.
namespace headlight::serve {

using headlight::lower_case;

inline std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

}  // namespace headlight::serve
