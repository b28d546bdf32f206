#pragma once

#include <omp.h>

#include <algorithm>

#include "headlight/tensor/shape.h"

// The project owns the parallelism: this header holds the only OpenMP regions. Work is cut into
// chunks whose boundaries depend on the problem alone, so that no result depends on the number of
// threads. Bodies must not throw.
namespace headlight::kernels {

// Elements of a cheap loop that are worth a chunk of their own.
inline constexpr Index kElementGrain = 16384;

inline Index chunk_count(Index count, Index grain) { return (count + grain - 1) / grain; }

// Rows that together hold about kElementGrain elements.
inline Index row_grain(Index row_length) {
  return std::max<Index>(1, kElementGrain / std::max<Index>(1, row_length));
}

// Threads that a parallel loop started here would use at most.
inline Index max_threads() { return omp_in_parallel() != 0 ? 1 : omp_get_max_threads(); }

// Calls body(thread, chunk, begin, end) for every chunk of `grain` items. `thread` is below
// max_threads() and tells scratch buffers apart; it must not influence results.
template <class Body>
void parallel_chunks(Index count, Index grain, const Body& body) {
  const Index chunks = chunk_count(count, grain);
  const auto run = [&](Index thread, Index chunk) {
    body(thread, chunk, chunk * grain, std::min(count, (chunk + 1) * grain));
  };
  if (chunks <= 1 || max_threads() == 1) {
    for (Index chunk = 0; chunk < chunks; ++chunk) {
      run(0, chunk);
    }
    return;
  }
  const int threads = static_cast<int>(std::min(chunks, max_threads()));
#pragma omp parallel for schedule(static) num_threads(threads)
  for (Index chunk = 0; chunk < chunks; ++chunk) {
    run(omp_get_thread_num(), chunk);
  }
}

// Calls body(begin, end) for every chunk.
template <class Body>
void parallel_for(Index count, Index grain, const Body& body) {
  parallel_chunks(count, grain, [&](Index, Index, Index begin, Index end) { body(begin, end); });
}

// While one lives, libraries that ask OpenMP for threads get one.
class SingleThreadScope {
 public:
  SingleThreadScope() : previous_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~SingleThreadScope() { omp_set_num_threads(previous_); }
  SingleThreadScope(const SingleThreadScope&) = delete;
  SingleThreadScope& operator=(const SingleThreadScope&) = delete;

 private:
  int previous_;
};

}  // namespace headlight::kernels
