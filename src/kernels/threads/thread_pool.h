#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

#include "headlight/kernels/threads/parallel.h"
#include "kernels/threads/team.h"

namespace headlight::kernels {

// The worker threads of loops and teams; the pool runs one loop or team at a time. Threads start
// when first needed, sleep when idle, and end with the process. No caller waits for a thread that
// has not begun: a loop ends when its chunks are done, and a team starts with the threads that
// arrived.
//
// Each thread gets one even, contiguous share of a loop's chunks. It takes chunks of its own share
// first, because its core's cache may still hold their rows, and then chunks of other shares. If a
// worker loses its core within a chunk, the caller has to wait; it then works alone for some time.
// A late thread compares its job id with the one stored beside the count of remaining chunks. It
// may access a loop only after taking a chunk with that loop's id; the loop stays alive until all
// its chunks are done.
class ThreadPool {
 public:
  static constexpr Index kMostThreads = 1024;

  static ThreadPool& instance();

  // Return false without doing anything if another thread uses the pool; run_chunks() also while
  // the pool is in backoff. Require at least 2 threads, and chunks >= 2.
  bool run_chunks(Index chunks, Index threads, ChunkFunction function, const void* body);
  bool run_team(Index threads, Index work, TeamFunction function, const void* body);

  // Calls sleep(), which waits for the workers of the newest loop or team. Only the thread that
  // started it may call this.
  template <class Sleep>
  void sleep_for_workers(const Sleep& sleep);

 private:
  using Clock = std::chrono::steady_clock;
  using JobId = std::uint32_t;

  // State of one thread; number 0 is the thread that started the loop.
  struct ThreadState {
    // High half: job id; low half: number of units of the share that are not taken yet.
    alignas(64) std::atomic<std::uint64_t> left{0};
    Index end = 0;            // end of the share, in units
    Index team_index = 0;     // index in the team
    clockid_t cpu_clock = 0;  // clock of the thread's CPU time
    // Newest loop or team that this thread was woken for.
    alignas(64) std::atomic<JobId> wake{0};
  };

  ThreadPool();
  void reset_after_fork();

  bool begin();
  void end();
  bool in_backoff();
  JobId publish(Index units, Index threads);
  Index start_threads(Index threads);
  JobId next_job(Index threads, bool team);
  Clock::duration spin(Clock::duration limit) const;
  void wake(Index thread, JobId job);
  [[noreturn]] void run_worker(Index thread);
  void work(JobId job, Index thread);
  void run_unit(Index unit, Index thread);
  void join_team(JobId job, Index thread);
  Index gather_team(JobId job, Index threads, Clock::duration limit);
  void finish_units(std::uint32_t units);
  void wait_for_workers();
  Clock::duration cpu_time_of_workers() const;
  Clock::duration cpu_time_of_all() const;
  Clock::duration serial_time(Index work) const;
  void back_off_after(Clock::duration lost);

  std::atomic<bool> busy_{false};
  Index started_ = 1;  // number of threads, caller included
  Index wanted_ = 1;   // number requested when started_ was last raised
  int cpus_ = 1;
  std::atomic<bool> spins_{true};  // every thread of the newest loop has a CPU
  JobId newest_ = 0;
  Index threads_ = 1;  // number of threads of the newest loop or team
  bool in_backoff_ = false;
  int backoff_factor_ = 0;  // length of the backoff, in multiples of the lost time
  Clock::time_point backoff_until_{};
  // The newest team that the caller ran alone, in backoff.
  struct {
    Index work = 0;
    Clock::duration took{};
  } serial_;

  // State of the loop; a unit is `unit_chunks_` chunks that are taken together.
  Index chunks_ = 0;
  Index unit_chunks_ = 1;
  ChunkFunction function_ = nullptr;
  const void* body_ = nullptr;
  std::mutex error_mutex_;
  std::atomic<Index> failed_chunk_{0};  // first chunk that threw; chunks_: none
  std::exception_ptr error_;
  // Units that are not done, or members of a team that have not finished.
  alignas(64) std::atomic<std::uint32_t> pending_{0};

  // State of the team.
  TeamFunction team_function_ = nullptr;
  Index team_size_ = 1;
  TeamBarrier barrier_;
  bool measures_team_ = false;  // measures the loss over the whole team, not at each wait
  alignas(64) std::atomic<std::uint32_t> begun_{0};  // number of teams so far

  std::array<std::unique_ptr<ThreadState>, kMostThreads> states_;
};

}  // namespace headlight::kernels
