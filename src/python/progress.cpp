#include "python/progress.h"

#include <nanobind/nanobind.h>

#include <chrono>
#include <memory>

#include "python/errors.h"

namespace headlight::python {
namespace {

namespace nb = nanobind;

constexpr std::chrono::seconds kDelay{1};
constexpr double kShareStep = 0.002;  // smallest step of the bar

// A bar that appears late. Its methods take the lock of the interpreter.
class ProgressBar {
 public:
  ProgressBar(const char* work, bool is_shown) : work_(work), is_shown_(is_shown) {}
  ~ProgressBar() {
    const nb::gil_scoped_acquire lock;
    if (bar_.is_valid() && !bar_.is_none()) {
      try {
        bar_.attr("close")();
      } catch (nb::python_error& error) {
        error.discard_as_unraisable("closing a progress bar");
      }
    }
    bar_.reset();
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(double share) {
    check_signals();
    if (!is_shown_ || share < shown_ + kShareStep ||
        std::chrono::steady_clock::now() - start_ < kDelay) {
      return;
    }
    const nb::gil_scoped_acquire lock;
    if (!bar_.is_valid()) {
      bar_ = nb::module_::import_("headlight.progress").attr("bar")(work_);
    }
    is_shown_ = !bar_.is_none();
    if (is_shown_) {
      bar_.attr("update")(100 * (share - shown_));
    }
    shown_ = share;
  }

 private:
  const char* work_;
  bool is_shown_;
  double shown_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  nb::object bar_;
};

}  // namespace

std::function<void(double share)> progress_of(const char* work, bool is_shown) {
  return
      [bar = std::make_shared<ProgressBar>(work, is_shown)](double share) { bar->update(share); };
}

}  // namespace headlight::python
