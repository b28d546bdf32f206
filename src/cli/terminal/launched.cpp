#include "cli/terminal/launched.h"

#include <cstdio>
#include <memory>

#include "cli/terminal/log.h"

namespace headlight::cli {
namespace {

void be_silent() {
  set_log_level("off");
  std::ignore = std::freopen("/dev/null", "w", stdout);
}

// What this process has of the others. They part when the program ends: what one of them has thrown
// is printed by then, however long the end takes when another is lost.
struct Launched {
  bool was_tried = false;
  std::unique_ptr<Processes> processes;  // nothing: there are none, or they cannot work together
};

Launched& launched() {
  static Launched state;
  return state;
}

}  // namespace

Processes& all_processes() {
  if (!launched().was_tried) {
    launched().was_tried = true;
    launched().processes = launched_processes();
    if (launched().processes != nullptr && !launched().processes->leads()) {
      be_silent();
    }
  }
  return launched().processes != nullptr ? *launched().processes : alone();
}

bool is_told_by_others() noexcept {
  try {
    const bool others_tell = all_processes().give_up();
    if (!others_tell && !all_processes().leads()) {
      set_log_level("error");
    }
    return others_tell;
  } catch (const OthersFailed&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace headlight::cli
