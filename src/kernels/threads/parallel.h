#pragma once

#include <algorithm>

#include "headlight/kernels/threads/parallel.h"
#include "kernels/threads/team.h"

// Headlight's loops and teams run on the threads of thread_pool.h. Chunk boundaries depend on the
// problem alone, so that no result depends on the number of threads.
namespace headlight::kernels {

using headlight::parallel_for;

// Elements of a cheap loop that are worth their own chunk.
inline constexpr Index kElementGrain = 16384;

// Returns the number of rows that together hold about kElementGrain elements.
inline Index row_grain(Index row_length) {
  return std::max<Index>(1, kElementGrain / std::max<Index>(1, row_length));
}

// Returns the maximum number of threads of a parallel loop that starts here.
Index max_threads();

// Sets the maximum for the whole process; 1 to ThreadPool::kMostThreads.
void set_max_threads(Index threads);

// Keeps loops and teams that this thread starts on this thread during its lifetime.
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
