#pragma once

#include <string>
#include <vector>

#include "headlight/formats/arrays/npz.h"
#include "headlight/interpret/bootstrap.h"
#include "headlight/interpret/head_id.h"
#include "headlight/show/plot/matrix_plot.h"

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

// Returns the index of a label in an axis; appends the label if it is new.
std::size_t index_in_axis(const std::string& label, std::vector<std::string>& axis);

// Measured value of a head. NaN in `low` and `high`: no interval.
struct HeadValue {
  HeadId head;
  Interval value;
};

// Returns a plot of layers by heads without a title; missing heads are NaN. It has `lows` and
// `highs` if all heads have intervals.
MatrixPlot head_plot(const std::vector<HeadValue>& heads);

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
};
std::string result_html(const ResultPage& page);

}  // namespace headlight
