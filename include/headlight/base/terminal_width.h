#pragma once

#include <string_view>

#include "headlight/base/index.h"

namespace headlight {

// Returns the terminal columns of a UTF-8 text: 0 for combining marks, 2 for East Asian wide
// characters and emoji, else 1 per character. The ranges follow Unicode Standard Annex 11 without
// rare scripts.
Index terminal_width(std::string_view text);
Index terminal_width(char32_t character);

}  // namespace headlight
