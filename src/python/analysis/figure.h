#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace headlight::python {

// An SVG figure or an HTML page.
struct Figure {
  std::string source;
  bool is_page = false;
  int height = 640;  // of a page in a notebook, in pixels
};

// Returns a page as an element of a notebook, which keeps its style and script to itself.
std::string notebook_html(const std::string& page, int height = 640);

struct TrainedRun;

// Draws the losses of several runs.
Figure loss_figure(const std::vector<TrainedRun>& runs);

// Adds matrices, points and coloured texts to the module headlight.plot.
void add_charts(nanobind::module_& plot);

}  // namespace headlight::python
