#include "headlight/kernels/machine/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "headlight/base/index.h"
#include "kernels/machine/control_groups.h"

namespace headlight {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

}  // namespace

double available_memory() {
  const double system = 1024 * system_number("/proc/meminfo", "MemAvailable");
  double least = system > 0 ? system : kNoLimit;
  least = std::min(least, memory_left_in_groups("/").value_or(kNoLimit));
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) {
    const double used = 1024 * system_number("/proc/self/status", "VmSize");
    least = std::min(least, static_cast<double>(addresses.rlim_cur) - used);
  }
  return least < kNoLimit ? std::max(1.0, least) : 0;
}

std::string missing_memory(double bytes) {
  const double available = available_memory();
  if (available == 0 || bytes < available) {
    return "";
  }
  const auto megabytes = [](double count) {
    return std::to_string(static_cast<Index>(count / 1e6)) + " MB";
  };
  return megabytes(bytes) + ", but " + megabytes(available) + " are free";
}

void release_free_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

double peak_memory() { return 1024 * system_number("/proc/self/status", "VmHWM"); }

}  // namespace headlight
