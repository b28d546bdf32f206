#include "cli/terminal/wait_policy.h"

#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

namespace headlight::cli {
namespace {

// Long enough for a thread to be awake when the next parallel loop of a training step begins.
constexpr const char* kGnuSpins = "10000";
constexpr const char* kLlvmMilliseconds = "1";

}  // namespace

void limit_idle_spinning(char** argv) {
  for (const char* chosen : {"GOMP_SPINCOUNT", "KMP_BLOCKTIME", "OMP_WAIT_POLICY"}) {
    if (std::getenv(chosen) != nullptr) {
      return;
    }
  }
  setenv("GOMP_SPINCOUNT", kGnuSpins, 1);
  setenv("KMP_BLOCKTIME", kLlvmMilliseconds, 1);
  execv("/proc/self/exe", argv);  // comes back only when that fails, which is no reason to stop
}

}  // namespace headlight::cli
