#include "kernels/threads/openmp.h"

#include <omp.h>

namespace headlight::kernels {
namespace {

std::vector<std::vector<int>> asked_places() {
  std::vector<std::vector<int>> places;
  if (omp_get_proc_bind() == omp_proc_bind_false) {
    return places;
  }
  for (int place = 0; place < omp_get_num_places(); ++place) {
    places.emplace_back(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, places.back().data());
  }
  return places;
}

}  // namespace

int openmp_thread_count() { return omp_get_max_threads(); }

int openmp_cpu_count() { return omp_get_num_procs(); }

// Read once, by the thread that starts the pool: a thread that calls LLVM's runtime is registered
// there, and must not be while the program exits.
const std::vector<std::vector<int>>& openmp_places() {
  static const std::vector<std::vector<int>> places = asked_places();
  return places;
}

OpenMpThreadScope::OpenMpThreadScope(int threads) : previous_(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}

OpenMpThreadScope::~OpenMpThreadScope() { omp_set_num_threads(previous_); }

}  // namespace headlight::kernels
