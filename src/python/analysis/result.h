#pragma once

#include <string>
#include <vector>

#include "python/autograd/arrays.h"
#include "show/result/result.h"

namespace headlight::python {

// Result of an analysis: arrays and labels by name, and a page.
struct Result {
  ResultArrays arrays;
  nb::dict summary;  // single numbers and texts
  std::string html;
};

}  // namespace headlight::python
