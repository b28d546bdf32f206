#include "kernels/affinity.h"

#include <sched.h>

#include <algorithm>
#include <set>

#include "kernels/openmp.h"

namespace headlight::kernels {
namespace {

// With OMP_PROC_BIND or OMP_PLACES, OpenMP has bound this thread to a part of the allowed CPUs.
std::set<int> cpus_of_places() {
  std::set<int> cpus;
  for (const std::vector<int>& place : openmp_places()) {
    cpus.insert(place.begin(), place.end());
  }
  return cpus;
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

}  // namespace headlight::kernels
