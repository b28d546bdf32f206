#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>

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

// Where the threads of a team wait for each other. A wait is short when every thread has a core, so
// it spins; when cores are shared, the partner may need this very core, so it soon sleeps. (To
// yield would be worse: a thread that yields goes to the end of the queue, and its partner then
// waits for it at the next barrier, a time slice each. One that sleeps is let in as soon as it is
// woken.)
class TeamBarrier {
 public:
  void wait(Index team_size) {
    const unsigned round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == team_size) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      round_.notify_all();
      return;
    }
    for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
      if (spins < kSpins) {
        pause();
      } else {
        round_.wait(round, std::memory_order_acquire);
      }
    }
  }

 private:
  static constexpr int kSpins = 2000;

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  alignas(64) std::atomic<Index> arrived_{0};
  alignas(64) std::atomic<unsigned> round_{0};
};

// A thread of a team, as its body sees it.
struct TeamMember {
  Index index = 0;
  Index size = 1;
  TeamBarrier* shared_barrier = nullptr;

  // Everything that any member did before is visible to all afterwards.
  void barrier() const {
    if (size > 1) {
      shared_barrier->wait(size);
    }
  }

  // This member's even share of `count` items.
  Index share_begin(Index count) const { return count * index / size; }
  Index share_end(Index count) const { return count * (index + 1) / size; }
};

// Calls body(member) once on each of `threads` threads, or of fewer when OpenMP gives fewer: for
// many short steps in a row, where a parallel loop for each would cost more than the steps. The
// shares depend on the number of threads, so the bits of an item must not depend on its share.
template <class Body>
void parallel_team(Index threads, const Body& body) {
  if (threads <= 1 || max_threads() == 1) {
    body(TeamMember{});
    return;
  }
  TeamBarrier barrier;
#pragma omp parallel num_threads(static_cast <int>(std::min(threads, max_threads())))
  body(TeamMember{omp_get_thread_num(), omp_get_num_threads(), &barrier});
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
