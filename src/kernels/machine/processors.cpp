#include "kernels/machine/processors.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "base/strings/split.h"
#include "kernels/machine/control_groups.h"
#include "kernels/threads/openmp.h"

namespace headlight::kernels {
namespace {

namespace fs = std::filesystem;

// With OMP_PROC_BIND or OMP_PLACES, OpenMP has bound this thread to a part of the allowed CPUs.
std::set<int> cpus_of_places() {
  std::set<int> cpus;
  for (const std::vector<int>& place : openmp_places()) {
    cpus.insert(place.begin(), place.end());
  }
  return cpus;
}

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// Returns the CPUs granted by a quota of microseconds per period; "max" and -1 mean no limit.
std::int64_t granted_cpus(const std::string& quota, const std::string& period) {
  const std::optional<std::int64_t> time = parse_count(quota);
  const std::optional<std::int64_t> length = parse_count(period);
  if (!time || !length || *time == 0 || *length == 0) {
    return kNoLimit;
  }
  return divided_up(*time, *length);
}

std::int64_t granted_in(const fs::path& group) {
  return std::min(
      granted_cpus(system_word(group / "cpu.max", 0), system_word(group / "cpu.max", 1)),
      granted_cpus(system_word(group / "cpu.cfs_quota_us", 0),
                   system_word(group / "cpu.cfs_period_us", 0)));
}

std::int64_t granted_by_groups(const fs::path& root) {
  std::int64_t least = kNoLimit;
  for (const fs::path& folder : control_group_folders(root, "cpu")) {
    least = std::min(least, granted_in(folder));
  }
  return least;
}

struct CpuRange {
  std::int64_t first;
  std::int64_t last;
};

// Parses "0-1,8" into ranges; skips malformed ones.
std::vector<CpuRange> parse_ranges(const std::string& text) {
  std::vector<CpuRange> ranges;
  for (const std::string& part : split_at_commas(text.substr(0, text.find('\n')))) {
    const std::size_t dash = part.find('-');
    const auto first = parse_count(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_count(part.substr(dash + 1));
    if (first && last) {
      ranges.push_back({*first, *last});
    }
  }
  return ranges;
}

// Returns the first of `cpus` that shares a core with `cpu`, or `cpu` if its siblings are unknown.
int first_sibling(const fs::path& root, int cpu, const std::vector<int>& cpus) {
  const std::vector<CpuRange> siblings = parse_ranges(
      read_system_text(root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) /
                       "topology/thread_siblings_list"));
  const auto shares = [&](int other) {
    return std::any_of(siblings.begin(), siblings.end(), [&](const CpuRange& range) {
      return range.first <= other && other <= range.last;
    });
  };
  return shares(cpu) ? *std::find_if(cpus.begin(), cpus.end(), shares) : cpu;
}

}  // namespace

std::vector<int> allowed_cpus() {
  const std::set<int> places = cpus_of_places();
  std::vector<int> cpus(places.begin(), places.end());
  constexpr int kMostCpus = 1 << 16;
  // The kernel rejects masks that are shorter than its own.
  for (int size = 1024; cpus.empty() && size <= kMostCpus; size *= 2) {
    std::vector<cpu_set_t> mask(static_cast<std::size_t>(size) / CPU_SETSIZE);
    const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) == 0) {
      for (int cpu = 0; cpu < size; ++cpu) {
        if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, mask.data())) {
          cpus.push_back(cpu);
        }
      }
    }
  }
  return cpus;
}

void bind_to_place(Index thread) {
  const std::vector<std::vector<int>>& places = openmp_places();
  if (places.empty()) {
    return;
  }
  const std::vector<int>& place = places[static_cast<std::size_t>(thread) % places.size()];
  const int last = *std::max_element(place.begin(), place.end());
  std::vector<cpu_set_t> mask(static_cast<std::size_t>(last) / CPU_SETSIZE + 1);
  const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
  for (const int cpu : place) {
    CPU_SET_S(static_cast<std::size_t>(cpu), bytes, mask.data());
  }
  sched_setaffinity(0, bytes, mask.data());  // if it fails, the thread stays unbound
}

int usable_cores(const std::filesystem::path& root, const std::vector<int>& cpus) {
  std::set<int> cores;
  for (const int cpu : cpus) {
    cores.insert(first_sibling(root, cpu, cpus));
  }
  const auto count = static_cast<std::int64_t>(cores.size());
  return static_cast<int>(std::max<std::int64_t>(1, std::min(count, granted_by_groups(root))));
}

}  // namespace headlight::kernels
