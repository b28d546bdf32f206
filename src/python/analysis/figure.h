#pragma once

#include <string>

namespace headlight::python {

// An SVG figure or an HTML page.
struct Figure {
  std::string source;
  bool is_page = false;
};

// Returns a page as an element of a notebook, which keeps its style and script to itself.
std::string notebook_html(const std::string& page);

}  // namespace headlight::python
