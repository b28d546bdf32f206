#pragma once

#include <string>

#include "headlight/interpret/attention_maps.h"
#include "headlight/show/attention/attention_style.h"

namespace headlight {

struct AttentionTextOptions {
  Index columns = 100;   // width of the terminal
  bool colours = false;  // escape sequences of a 256-colour terminal; false: digits
  // Background of the terminal. A higher weight is brighter on a dark background, darker on a light
  // one, as in figures and pages.
  bool light_ground = false;
  AttentionStyle style = {};
  bool own_numbers = false;  // cells show style.numbers instead of per cent without a sign
};

// Returns the head layer.heads[row] as text for a terminal: rows are queries, columns are keys.
// Cells show the weight in per cent if it fits, otherwise a colour (without colours: tenths). For
// texts that are too long, a cell shows the largest weight of k x k tokens, labelled by its tokens.
// Padding counts two columns for Hangul, Han and emoji. The text ends with a newline.
//
// Throws Error as attention_svg() does, and if `row` is out of range.
std::string attention_text(const AttentionMaps& maps, const LayerAttention& layer, Index row,
                           const AttentionTextOptions& options = {});

}  // namespace headlight
