#include "python/errors.h"

#include <filesystem>

#include "headlight/base/error.h"
#include "headlight/runs/checkpoint.h"
#include "headlight/storage/directory_lock.h"
#include "headlight/train/trainer.h"

namespace headlight::python {

namespace nb = nanobind;

void register_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const OutOfMemory& error) {
      PyErr_SetString(PyExc_MemoryError, error.what());
    } catch (const SaveError& error) {
      PyErr_SetString(PyExc_OSError, error.what());
    } catch (const LockedError& error) {
      PyErr_SetString(PyExc_BlockingIOError, error.what());
    } catch (const DivergedError& error) {
      PyErr_SetString(PyExc_ArithmeticError, error.what());
    } catch (const Error& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::filesystem::filesystem_error& error) {
      PyErr_SetString(PyExc_OSError, error.what());
    }
  });
}

void check_signals() {
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) {
    throw nb::python_error();
  }
}

void warn(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    if (PyErr_WarnEx(PyExc_UserWarning, line.c_str(), 1) != 0) {
      throw nb::python_error();  // warnings are errors
    }
  }
}

void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw nb::python_error();
}

}  // namespace headlight::python
