#pragma once

#include <string>

#include "base/json.h"
#include "python/autograd/arrays.h"
#include "show/result/result.h"

namespace headlight::python {

// Returns a value of Python's module json.
nb::object python_value(const Json& json);

// Result of an analysis: arrays and labels by name, and a page.
struct Result {
  ResultArrays arrays;
  nb::dict summary;  // single numbers and texts
  Json rows;         // of the answer; null: none
  std::string html;
};

}  // namespace headlight::python
