#pragma once

#include <string_view>

#include "headlight/base/index.h"

namespace headlight {

// Columns that a terminal gives to a text in UTF-8: 0 to marks that join the character before, 2 to
// East Asian wide characters and emoji (Unicode Standard Annex 11, in ranges that leave out rare
// scripts), 1 to all others.
Index terminal_width(std::string_view text);
Index terminal_width(char32_t character);

}  // namespace headlight
