#include "kernels/threads/parallel.h"

#include <atomic>

#include "kernels/machine/simulated_cores.h"
#include "kernels/threads/openmp.h"
#include "kernels/threads/thread_pool.h"

namespace headlight::kernels {
namespace {

// True while parallel loops of this thread must run on this thread alone.
thread_local bool stays_on_this_thread = false;

std::atomic<Index>& chosen_threads() {
  static std::atomic<Index> count{std::min<Index>(openmp_thread_count(), ThreadPool::kMostThreads)};
  return count;
}

}  // namespace

Index max_threads() {
  if (stays_on_this_thread) {
    return 1;
  }
  const SimulatedCores* simulation = SimulatedCores::current();
  return simulation != nullptr ? simulation->cores()
                               : chosen_threads().load(std::memory_order_relaxed);
}

void set_max_threads(Index threads) { chosen_threads().store(threads, std::memory_order_relaxed); }

SingleThreadScope::SingleThreadScope() : previous_(stays_on_this_thread) {
  stays_on_this_thread = true;
}

SingleThreadScope::~SingleThreadScope() { stays_on_this_thread = previous_; }

void run_chunks(Index chunks, ChunkFunction function, const void* body) {
  const auto run_here = [&] {
    for (Index chunk = 0; chunk < chunks; ++chunk) {
      function(body, 0, chunk);
    }
  };
  const Index threads = std::min(chunks, max_threads());
  if (threads <= 1) {
    run_here();
    return;
  }
  const SingleThreadScope nested_loops_stay_here;
  if (SimulatedCores* simulation = SimulatedCores::current()) {
    simulation->run(chunks, function, body);
    return;
  }
  if (!ThreadPool::instance().run_chunks(chunks, threads, function, body)) {
    run_here();
  }
}

void run_team(Index threads, Index work, TeamFunction function, const void* body) {
  threads = std::min(threads, max_threads());
  if (threads <= 1 || SimulatedCores::current() != nullptr) {
    function(body, {});
    return;
  }
  const SingleThreadScope nested_loops_stay_here;
  if (!ThreadPool::instance().run_team(threads, work, function, body)) {
    function(body, {});
  }
}

}  // namespace headlight::kernels
