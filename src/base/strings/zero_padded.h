#pragma once

#include <algorithm>
#include <string>

#include "headlight/base/index.h"

namespace headlight {

// Pads a number with zeros to at least `digits` digits, so that names sort as their numbers.
inline std::string zero_padded(Index number, std::size_t digits) {
  const std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

}  // namespace headlight
