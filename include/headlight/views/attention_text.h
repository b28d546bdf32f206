#pragma once

#include <string>

#include "headlight/heads/attention_maps.h"

namespace headlight {

struct AttentionTextOptions {
  Index columns = 100;   // of the terminal
  bool colours = false;  // with escapes for 256 colours; otherwise digits
  // The terminal's ground. More weight stands out more from it, as in figures and pages: brighter
  // on a dark ground, darker on a light one.
  bool light_ground = false;
};

// One head for terminals: rows are queries, columns are keys. Cells hold the weight in per cent
// where they have room, otherwise only a colour (without colours: tenths); texts too long for the
// terminal show the largest weight of k x k tokens in a cell, labelled by those tokens. Labels are
// padded by the columns that terminals give to their characters (two for Hangul, Han and emoji).
// Ends with a newline.
//
// Throws Error as attention_svg() does, and for a `row` that layer.heads does not have.
std::string attention_text(const AttentionMaps& maps, const LayerAttention& layer, Index row,
                           const AttentionTextOptions& options = {});

}  // namespace headlight
