#include "cli/terminal/launched.h"

#include <cstdio>
#include <memory>

#include "cli/terminal/log.h"

namespace headlight::cli {
namespace {

// Connections to the other processes. They close at program exit, after errors were printed:
// closing may take long if a process was lost.
struct Launched {
  bool was_tried = false;
  std::unique_ptr<Processes> processes;  // null: this process is alone
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
      set_log_level("off");
      std::ignore = std::freopen("/dev/null", "w", stdout);
    }
  }
  return launched().processes != nullptr ? *launched().processes : alone();
}

bool another_rank_reports() noexcept {
  try {
    const bool peer_reports = all_processes().give_up();
    if (!peer_reports && !all_processes().leads()) {
      set_log_level("error");
    }
    return peer_reports;
  } catch (const PeerFailed&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace headlight::cli
