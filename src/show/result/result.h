#pragma once

#include <string>
#include <vector>

#include "headlight/formats/arrays/npz.h"
#include "headlight/show/plot/matrix_plot.h"
#include "headlight/show/text/coloured_text.h"

// Results about parts of a model, in the common form from which files and pages are made.
namespace headlight {

// One measure of all parts. plot.row_title and plot.column_title name its axes; a plot without a
// column title is a list.
struct ResultGrid {
  std::string name;  // "recovered"
  MatrixPlot plot;
};

// Returns the labels "0" to "count - 1".
std::vector<std::string> numbers_to(Index count);

struct ResultArrays {
  NamedTensors tensors = {};
  NamedTexts texts = {};
};

// Returns the values of each grid under its name, float64 [R, K] or [R], NaN where missing, and
// intervals under name_low and name_high. Texts: the labels of each axis under its title. Throws
// Error if two axes of the same title have different labels.
ResultArrays arrays_of(const std::vector<ResultGrid>& grids);

// A page with grids one below the other and optionally a graph of circuit_svg(), in one file that
// needs no network. `note` is a text below the title; empty: none.
struct ResultPage {
  std::string title = {};
  std::string note = {};
  std::string graph = {};  // SVG
  std::vector<ResultGrid> grids = {};
  std::vector<ColouredText> texts = {};  // if any: a page of them alone
};
std::string result_html(const ResultPage& page);

}  // namespace headlight
