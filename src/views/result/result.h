#pragma once

#include <string>
#include <vector>

#include "headlight/heads/bootstrap.h"
#include "headlight/heads/head_id.h"
#include "headlight/io/npz.h"
#include "headlight/views/matrix_plot.h"

// What commands find out about parts of a model, in the one form that files and pages are made of.
namespace headlight {

// One measure of all parts. Its axes are plot.row_title and plot.column_title; a plot without a
// column title is a list.
struct ResultGrid {
  std::string name;  // "recovered"
  MatrixPlot plot;
};

// The labels "0" to "count - 1".
std::vector<std::string> numbers_to(Index count);

// The place of a label in an axis, at whose end it is put when it is new.
std::size_t place_in_axis(const std::string& label, std::vector<std::string>& axis);

// What was measured of a head; `low` and `high` NaN: without an interval.
struct HeadValue {
  HeadId head;
  Interval value;
};

// Layers by heads, of which some may be missing, without a title; with `lows` and `highs` where
// all heads have intervals.
MatrixPlot head_plot(const std::vector<HeadValue>& heads);

struct ResultArrays {
  NamedTensors tensors = {};
  NamedTexts texts = {};
};

// Of every grid its values under its name, float64 [R, K] or [R], NaN where there are none, with
// name_low and name_high of intervals; and the labels of each axis under the axis's title. Throws
// Error when two axes of one title have other labels.
ResultArrays arrays_of(const std::vector<ResultGrid>& grids);

// A page that shows the grids one below the other and, if there is one, a graph of circuit_svg():
// one file that needs no network. `note` stands below the title; empty: nothing does.
struct ResultPage {
  std::string title = {};
  std::string note = {};
  std::string graph = {};  // SVG
  std::vector<ResultGrid> grids = {};
};
// `page_files`: the folder of the page's files; empty: those of the program.
std::string result_html(const ResultPage& page, const std::string& page_files = {});

}  // namespace headlight
