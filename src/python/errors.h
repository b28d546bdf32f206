#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace headlight::python {

// Makes Python exceptions of the library's: ValueError, MemoryError for OutOfMemory, OSError for
// files that cannot be written or locked, ArithmeticError for a training that diverged.
void register_errors();

// Throws the current Python exception, such as KeyboardInterrupt, if a signal has set one. Call it
// with or without the lock of the interpreter, between steps of long work.
void check_signals();
// For callbacks that report progress.

// Gives Python warnings, one for each line.
void warn(const std::vector<std::string>& lines);

// Raises a Python exception with a message.
[[noreturn]] void raise(PyObject* type, const std::string& message);

}  // namespace headlight::python
