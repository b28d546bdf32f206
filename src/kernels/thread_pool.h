#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <exception>
#include <memory>
#include <mutex>

#include "headlight/kernels/parallel.h"
#include "kernels/team.h"

namespace headlight::kernels {

// The helper threads of loops and teams; the pool runs one loop or team at a time. Threads start
// when first needed, sleep when idle, and end with the process. No caller waits for a thread that
// has not begun: a loop ends when its chunks are done, and a team starts with the threads that
// arrived.
//
// Each thread gets one even, contiguous share of a loop's chunks. It takes chunks of its own share
// first, because its core's cache may still hold their rows, and then chunks of other shares. If a
// helper loses its core within a chunk, the caller has to wait; it then works alone for some time.
// A late thread compares its ticket with the one stored beside the count of remaining chunks. It
// may access a loop only after taking a chunk with that loop's ticket; the loop stays alive until
// all its chunks are done.
class ThreadPool {
 public:
  static constexpr Index kMostThreads = 1024;

  static ThreadPool& instance();

  // Return false without doing anything if another thread uses the pool; run_chunks() also while
  // the pool rests. Require at least 2 threads, and chunks >= 2.
  bool run_chunks(Index chunks, Index threads, ChunkFunction function, const void* body);
  bool run_team(Index threads, Index work, TeamFunction function, const void* body);

  // Calls sleep(), which waits for other threads of the newest loop or team. Only the thread that
  // started it may call this.
  template <class Sleep>
  void sleep_for_others(const Sleep& sleep);

 private:
  using Clock = std::chrono::steady_clock;
  using Ticket = std::uint32_t;

  // State of one thread; number 0 is the thread that started the loop.
  struct ThreadState {
    // High half: ticket; low half: number of units of the share that are not taken yet.
    alignas(64) std::atomic<std::uint64_t> left{0};
    Index end = 0;           // end of the share, in units
    Index seat = 0;          // index in the team
    clockid_t computed = 0;  // clock of the thread's CPU time
    // Ticket of the newest loop or team that this thread was called to.
    alignas(64) std::atomic<Ticket> call{0};
  };

  ThreadPool();
  void forget_threads();

  bool begin();
  void end();
  bool rests();
  Ticket offer(Index units, Index threads);
  Index start_threads(Index threads);
  Ticket next_ticket(Index threads, bool team);
  Clock::duration spin(Clock::duration limit) const;
  void call(Index thread, Ticket ticket);
  [[noreturn]] void serve(Index thread);
  void work(Ticket ticket, Index thread);
  void run_unit(Index unit, Index thread);
  void join(Ticket ticket, Index thread);
  Index gather(Ticket ticket, Index threads, Clock::duration patience);
  void leave(std::uint32_t units);
  void wait_for_others();
  Clock::duration computed_by_others() const;
  Clock::duration computed_by_all() const;
  Clock::duration time_alone(Index work) const;
  void rest_after(Clock::duration lost);

  std::atomic<bool> busy_{false};
  Index started_ = 1;  // number of threads, caller included
  Index wanted_ = 1;   // number requested when started_ was last raised
  int cpus_ = 1;
  std::atomic<bool> spins_{true};  // every thread of the newest loop has a CPU
  Ticket newest_ = 0;
  Index threads_ = 1;  // number of threads called to the newest loop or team
  bool rests_ = false;
  int rest_ = 0;  // length of the rest, in multiples of the lost time
  Clock::time_point rests_until_{};
  // The newest team that, during a rest, the caller ran alone.
  struct {
    Index work = 0;
    Clock::duration took{};
  } alone_;

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
  bool weighs_team_ = false;  // measures the loss over the whole team, not at each wait
  alignas(64) std::atomic<std::uint32_t> begun_{0};  // number of teams so far

  std::array<std::unique_ptr<ThreadState>, kMostThreads> places_;
};

}  // namespace headlight::kernels
