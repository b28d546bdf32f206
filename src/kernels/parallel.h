#pragma once

#include <algorithm>

#include "headlight/kernels/parallel.h"
#include "kernels/team.h"

// The project owns the parallelism: its loops and teams run on the threads of thread_pool.h. Work
// is cut into chunks whose boundaries depend on the problem alone, so that no result depends on the
// number of threads.
namespace headlight::kernels {

using headlight::parallel_for;

// Elements of a cheap loop that are worth a chunk of their own.
inline constexpr Index kElementGrain = 16384;

// Rows that together hold about kElementGrain elements.
inline Index row_grain(Index row_length) {
  return std::max<Index>(1, kElementGrain / std::max<Index>(1, row_length));
}

// Threads that a parallel loop started here would use at most.
Index max_threads();

// For loops and teams of the whole process; 1 to ThreadPool::kMostThreads.
void set_max_threads(Index threads);

// While one lives, loops and teams that this thread starts stay on it.
class SingleThreadScope {
 public:
  SingleThreadScope();
  ~SingleThreadScope();
  SingleThreadScope(const SingleThreadScope&) = delete;
  SingleThreadScope& operator=(const SingleThreadScope&) = delete;

 private:
  bool previous_;
};

}  // namespace headlight::kernels
