#pragma once

#include <string>
#include <vector>

#include "views/attention/attention_view.h"

// Measures and parts of the SVG figure; lengths are in SVG user units (pixels at 100 %).
namespace headlight {

// Steps of the colour scale: fewer would show bands, more would only lengthen the file.
inline constexpr Index kColourLevels = 32;

// How key labels stand under their columns.
enum class KeyLabels { flat, slanted, upright };

// Sizes shared by all panels of one figure.
struct PanelLayout {
  Index tokens = 0;
  Index block = 1;           // tokens per cell in each direction
  Index cells = 0;           // cells per side
  double cell = 0.0;         // side of a cell
  double side = 0.0;         // of the heat map
  double left = 0.0;         // room for the query labels and the axis title
  double bottom = 0.0;       // room for the key labels and the axis title
  double label_size = 0.0;   // font size of token labels
  bool square_root = false;  // colour by the square root of the weight
  bool values = false;       // print the weights in the cells
  KeyLabels key_labels = KeyLabels::flat;
  std::vector<std::string> labels;  // [T], shortened; empty when they do not fit
};

PanelLayout layout_panels(const std::vector<std::string>& tokens);

// Strength of a weight on the colour scale, in [0, 1].
double weight_strength(double weight, const PanelLayout& layout);

// The axes of a panel (frame, labels, axis titles), with the heat map's upper left corner at the
// origin. They are the same in every panel of a figure.
std::string panel_axes(const PanelLayout& layout);

// The cells of one head, with the heat map's upper left corner at the origin. `weights` is [T, T].
std::string panel_cells(const float* weights, const PanelLayout& layout);

}  // namespace headlight
