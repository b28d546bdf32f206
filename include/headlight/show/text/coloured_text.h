#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/base/index.h"
#include "headlight/interpret/token_cells.h"

namespace headlight {

// A text with a number for each token.
struct ColouredText {
  std::string label = {};                // heading, such as "neuron 3.17"
  std::vector<std::string> tokens = {};  // [T]
  std::vector<double> values = {};       // [T]; a value that is not finite leaves its token white
  std::optional<Index> marked = {};      // token with a frame
};

// Returns a text with one token for each cell of token_cells(): its label, and the value furthest
// from 0. A cell of one token keeps the token's label. A frame moves to its cell. Throws Error
// unless the cells cover the tokens.
ColouredText merged_text(const ColouredText& text, const std::vector<TokenCell>& cells);

struct ColouredTextPage {
  std::string title = {};
  std::string note = {};  // line below the title
  std::vector<ColouredText> texts = {};
  double limit = 0;  // colours run from -limit to limit; 0: the largest absolute value of all texts
};

// Returns texts as an HTML page whose tokens are coloured by their values: blue above 0, orange
// below, white at 0. A token's tooltip shows its number. Tokens may hold any text; they are
// escaped. The page refers to no other file and has no script. Throws Error for no texts, and for a
// text without a value for each token.
std::string coloured_text_html(const ColouredTextPage& page);

}  // namespace headlight
