#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

// The characters of a token's label, each with the marks that stand on it. Joiners and variation
// selectors are left out: terminals disagree about how wide what they join is.
std::vector<std::string> terminal_characters(std::string_view label);

// `characters` joined and cut with an ellipsis so that they take at most `columns`.
std::string terminal_label(const std::vector<std::string>& characters, Index columns);

// `text` with blanks before or after it, `columns` wide.
std::string pad_left(const std::string& text, Index columns);
std::string pad_right(const std::string& text, Index columns);

}  // namespace headlight
