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

// The threads that help with loops and teams; one loop or team at a time. They are started when
// first needed, sleep when nothing is to do, and end with the process. Nobody waits for a thread
// that has not begun: a loop is over when its chunks are done, and a team begins with those who
// have come.
//
// A loop's chunks are cut into one even, contiguous share a thread. Each thread takes chunks of its
// own share first, so that rows meet the core again whose cache holds them, and then what is left
// of the others'. When a helper loses its processor to another program amid a chunk, whoever called
// has to wait; it then goes on alone for some time, so that help costs little where there
// is none to be had. What tells a thread that comes late that its loop is over is the ticket, which
// stands beside the count of chunks that are left: only who takes a chunk of the very loop that he
// was called to looks at that loop, and as long as a chunk is not done its loop stays.
class ThreadPool {
 public:
  static constexpr Index kMostThreads = 1024;

  static ThreadPool& instance();

  // False when the pool is at work for another thread, and nothing was done; loops also when it has
  // had no time on the processors of late. At least 2 chunks and 2 threads.
  bool run_chunks(Index chunks, Index threads, ChunkFunction function, const void* body);
  bool run_team(Index threads, Index work, TeamFunction function, const void* body);

  // Calls sleep(), which waits for others of the newest loop or team, by the thread that started
  // it.
  template <class Sleep>
  void sleep_for_others(const Sleep& sleep);

 private:
  using Clock = std::chrono::steady_clock;
  using Ticket = std::uint32_t;

  // What belongs to one thread; number 0 is who started the loop.
  struct Place {
    // The ticket, and below it how many units of the share nobody has taken yet.
    alignas(64) std::atomic<std::uint64_t> left{0};
    Index end = 0;           // of the share, in units
    Index seat = 0;          // in the team
    clockid_t computed = 0;  // the time that this thread has had on a processor
    // The newest loop or team that this thread was called to.
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
  Index started_ = 1;  // threads there are, with who calls
  Index wanted_ = 1;   // as many were asked for when started_ was last raised
  int cpus_ = 1;
  std::atomic<bool> spins_{true};  // every thread of the newest loop has a CPU
  Ticket newest_ = 0;
  Index threads_ = 1;  // of the newest loop or team, if all came
  bool rests_ = false;
  int rest_ = 0;  // how many times as long as the time lost
  Clock::time_point rests_until_{};
  // The newest team of which, during a rest, who called was the only member.
  struct {
    Index work = 0;
    Clock::duration took{};
  } alone_;

  // The loop: a unit is `unit_chunks_` chunks that are taken together.
  Index chunks_ = 0;
  Index unit_chunks_ = 1;
  ChunkFunction function_ = nullptr;
  const void* body_ = nullptr;
  std::mutex error_mutex_;
  std::atomic<Index> failed_chunk_{0};  // the first one that threw; chunks_: none
  std::exception_ptr error_;
  // Units that are not done, or members that have not left.
  alignas(64) std::atomic<std::uint32_t> pending_{0};

  // The team.
  TeamFunction team_function_ = nullptr;
  Index team_size_ = 1;
  TeamBarrier barrier_;
  bool weighs_team_ = false;  // by the whole time of it, instead of every wait in it
  alignas(64) std::atomic<std::uint32_t> begun_{0};  // teams so far

  std::array<std::unique_ptr<Place>, kMostThreads> places_;
};

}  // namespace headlight::kernels
