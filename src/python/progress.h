#pragma once

#include <functional>

namespace headlight::python {

// Returns a function for the progress of a long call, 0 to 1. It throws the Python exception of a
// signal. After a second it shows a bar of tqdm, if that is installed and `is_shown`; the bar
// closes with the last copy of the function.
std::function<void(double share)> progress_of(const char* work, bool is_shown);

}  // namespace headlight::python
