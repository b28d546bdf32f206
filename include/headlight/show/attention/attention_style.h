#pragma once

#include <string>
#include <string_view>

#include "headlight/interpret/scores/head_verdict.h"
#include "headlight/show/plot/colour_map.h"

namespace headlight {

// Format of the weights in cells.
struct NumberFormat {
  int decimals = 2;      // 0 to 4
  bool percent = false;  // 100 times the weight, followed by %

  // Returns a weight as "0.25", or "25%".
  std::string text(double weight) const;
};

// Returns the format of matplotlib's and seaborn's `fmt`: ".2f", ".1%". Throws Error "ABOUT: ..."
// for another text or more than 4 decimals.
NumberFormat parse_number_format(std::string_view about, std::string_view text);

// Appearance of attention maps in every view.
struct AttentionStyle {
  ColourMap colours = ColourMap::headlight;
  NumberFormat numbers = {};
  Language language = Language::english;
  // Titles of figures contain the layer's number. False for weights outside a model: the figure
  // then is wide enough for its whole title.
  bool names_layer = true;
  bool names_heads = true;  // titles of figures contain the numbers of heads
  // Figures draw differences of weights, in [-1, 1]: blue above 0, orange below, white at 0.
  bool differences = false;
};

}  // namespace headlight
