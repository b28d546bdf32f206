#include "kernels/threads/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "headlight/kernels/machine/machine.h"
#include "kernels/machine/processors.h"
#include "kernels/threads/parallel.h"

namespace headlight::kernels {
namespace {

using std::chrono::microseconds;

// Layout of a job id: number, team bit, number of threads (never 0, so no id is 0).
constexpr int kThreadBits = 11;
constexpr std::uint32_t kTeamBit = 1U << kThreadBits;
constexpr std::uint32_t kNumberStep = kTeamBit << 1U;
constexpr int kJobShift = 32;
constexpr Index kMostUnits = Index{1} << 30;

// Time that a thread polls before it sleeps. kIdleSpin: for its next loop, which in a training step
// usually starts sooner. kEndSpin: for the other threads of its loop or team.
constexpr microseconds kIdleSpin{200};
constexpr microseconds kEndSpin{50};

// Time that a team waits for its members. A polling thread arrives in 0.5 us. A sleeping thread
// takes 50 us, or hundreds if other threads occupy its core. A team with more work waits longer.
constexpr microseconds kShortGather{3};
constexpr microseconds kLongGather{100};
constexpr microseconds kMaxGather{1000};
constexpr Index kLongWork = 2'000'000;          // multiply-adds
constexpr Index kWorkPerMicrosecond = 250'000;  // multiply-adds; more work waits longer

// After losing time to threads that were not running, the pool backs off: the caller computes
// alone. A backoff lasts kMinBackoff times the lost time. It doubles, up to kMaxBackoff times, if
// the next loss comes within kMaxBackoff times that loss after the previous backoff. kWakeUpTime,
// the time to wake a sleeping thread, is not a loss. For a team with long work, the loss is its
// time minus the time of one thread alone, as measured in backoff. The CPU time of all members
// limits that time: they share the memory bandwidth, and the caller may lose its core too.
// kMostLoss limits the loss of a suspended program.
constexpr int kMinBackoff = 2;
constexpr int kMaxBackoff = 64;
constexpr microseconds kWakeUpTime{100};
constexpr microseconds kMostLoss{100'000};
constexpr Index kSameWork = 16;  // two works are the same if they differ by less than 1/16

Index threads_of(std::uint32_t job) { return job & (kTeamBit - 1); }
bool is_team(std::uint32_t job) { return (job & kTeamBit) != 0; }
std::uint32_t job_of(std::uint64_t left) { return static_cast<std::uint32_t>(left >> kJobShift); }
Index units_of(std::uint64_t left) { return static_cast<std::uint32_t>(left); }
std::uint64_t units_left(std::uint32_t job, Index units) {
  return std::uint64_t{job} << kJobShift | static_cast<std::uint64_t>(units);
}

// Takes one unit of a share of the loop or team `job`. Returns the number of units left before;
// 0: none were left, or the share belongs to another job.
Index take(std::atomic<std::uint64_t>& left, std::uint32_t job) {
  std::uint64_t seen = left.load(std::memory_order_acquire);
  while (job_of(seen) == job && units_of(seen) > 0) {
    if (left.compare_exchange_weak(seen, seen - 1, std::memory_order_acquire)) {
      return units_of(seen);
    }
  }
  return 0;
}

microseconds gather_limit(Index work, microseconds most) {
  return work < kLongWork ? kShortGather
                          : std::clamp(microseconds(work / kWorkPerMicrosecond), kLongGather, most);
}

std::chrono::nanoseconds time_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Polls until ready() is true or `limit` has passed. Returns the last result of ready().
template <class Ready>
bool spin_until(std::chrono::nanoseconds limit, const Ready& ready) {
  if (ready()) {
    return true;
  }
  constexpr int kPollsPerClockRead = 16;  // reading the clock is slower than a poll
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    for (int poll = 0; poll < kPollsPerClockRead; ++poll) {
      if (ready()) {
        return true;
      }
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

// Waits until `value` differs from `old`: polls for `spin`, then sleeps. Returns the new value.
template <class T>
T await_change(const std::atomic<T>& value, T old, std::chrono::nanoseconds spin) {
  spin_until(spin, [&] { return value.load(std::memory_order_acquire) != old; });
  while (value.load(std::memory_order_acquire) == old) {
    value.wait(old, std::memory_order_acquire);
  }
  return value.load(std::memory_order_acquire);
}

}  // namespace

ThreadPool& ThreadPool::instance() {
  // Never destroyed: its threads wait in it until the process ends.
  static ThreadPool& pool = *new ThreadPool;
  return pool;
}

ThreadPool::ThreadPool() {
  states_[0] = std::make_unique<ThreadState>();
  pthread_atfork(nullptr, nullptr, [] { instance().reset_after_fork(); });
}

// Resets the pool in the child of a fork, which has only the forking thread.
void ThreadPool::reset_after_fork() {
  started_ = 1;
  wanted_ = 1;
  measures_team_ = false;
  busy_ = false;
}

bool ThreadPool::run_chunks(Index chunks, Index threads, ChunkFunction function, const void* body) {
  if (!begin()) {
    return false;
  }
  if (in_backoff()) {
    end();
    return false;
  }
  threads = start_threads(threads);
  chunks_ = chunks;
  unit_chunks_ = chunk_count(chunks, kMostUnits);
  function_ = function;
  body_ = body;
  failed_chunk_.store(chunks, std::memory_order_relaxed);
  work(publish(chunk_count(chunks, unit_chunks_), threads), 0);
  wait_for_workers();
  const std::exception_ptr error = std::exchange(error_, nullptr);
  end();
  if (error) {
    std::rethrow_exception(error);
  }
  return true;
}

// Divides the units into shares and wakes the threads.
ThreadPool::JobId ThreadPool::publish(Index units, Index threads) {
  pending_.store(static_cast<std::uint32_t>(units), std::memory_order_relaxed);
  const JobId job = next_job(threads, false);
  for (Index thread = 0; thread < threads; ++thread) {
    ThreadState& state = *states_[static_cast<std::size_t>(thread)];
    state.end = units * (thread + 1) / threads;
    state.left.store(units_left(job, state.end - units * thread / threads),
                     std::memory_order_release);
  }
  for (Index thread = 1; thread < threads; ++thread) {
    wake(thread, job);
  }
  return job;
}

bool ThreadPool::run_team(Index threads, Index work, TeamFunction function, const void* body) {
  if (!begin()) {
    return false;
  }
  if (in_backoff()) {
    const Clock::time_point start = Clock::now();
    function(body, {});
    serial_ = {work, Clock::now() - start};
    end();
    return true;
  }
  threads = start_threads(threads);
  team_function_ = function;
  body_ = body;
  const JobId job = next_job(threads, true);
  for (Index thread = 1; thread < threads; ++thread) {
    ThreadState& state = *states_[static_cast<std::size_t>(thread)];
    state.left.store(units_left(job, 1), std::memory_order_release);
    wake(thread, job);
  }
  const auto limit = gather_limit(work, spins_ ? kMaxGather : kLongGather);
  const Index size = gather_team(job, threads, limit);
  measures_team_ = size > 1 && work >= kLongWork * threads;
  const Clock::duration computed = measures_team_ ? cpu_time_of_all() : Clock::duration{0};
  const Clock::time_point start = Clock::now();
  function(body, {0, size, &barrier_});
  wait_for_workers();
  if (std::exchange(measures_team_, false)) {
    const Clock::duration took = Clock::now() - start;
    back_off_after(took - std::min(cpu_time_of_all() - computed, serial_time(work)));
  }
  end();
  return true;
}

// Starts missing threads. Returns `threads`, or fewer if the system refuses to start more.
Index ThreadPool::start_threads(Index threads) {
  if (threads > wanted_) {
    wanted_ = threads;
    cpus_ = available_cpus();
    try {
      for (; started_ < threads; ++started_) {
        auto& state = states_[static_cast<std::size_t>(started_)];
        state = std::make_unique<ThreadState>();
        std::thread thread([this, number = started_] { run_worker(number); });
        pthread_getcpuclockid(thread.native_handle(), &state->cpu_clock);
        thread.detach();
      }
    } catch (const std::system_error&) {
    }
  }
  threads = std::min(threads, started_);
  spins_.store(threads <= cpus_, std::memory_order_relaxed);
  threads_ = threads;
  return threads;
}

ThreadPool::JobId ThreadPool::next_job(Index threads, bool team) {
  newest_ = (newest_ & ~(kNumberStep - 1)) + kNumberStep;
  return newest_ | (team ? kTeamBit : 0U) | static_cast<JobId>(threads);
}

// With more threads than CPUs, a polling thread would keep a CPU from the thread it waits for.
ThreadPool::Clock::duration ThreadPool::spin(Clock::duration limit) const {
  return spins_.load(std::memory_order_relaxed) ? limit : Clock::duration{0};
}

void ThreadPool::wake(Index thread, JobId job) {
  std::atomic<JobId>& word = states_[static_cast<std::size_t>(thread)]->wake;
  word.store(job);
  word.notify_one();
}

// Main loop of a pool thread.
void ThreadPool::run_worker(Index thread) {
  bind_to_place(thread);
  const SingleThreadScope nested_loops_stay_here;
  const std::atomic<JobId>& word = states_[static_cast<std::size_t>(thread)]->wake;
  for (JobId job = 0;;) {
    job = await_change(word, job, spin(kIdleSpin));
    is_team(job) ? join_team(job, thread) : work(job, thread);
  }
}

// Takes units of the loop `job` until none is left, starting with this thread's own share.
void ThreadPool::work(JobId job, Index thread) {
  const Index threads = threads_of(job);
  std::uint32_t done = 0;
  for (Index i = 0; i < threads; ++i) {
    ThreadState& state = *states_[static_cast<std::size_t>((thread + i) % threads)];
    while (const Index left = take(state.left, job)) {
      run_unit(state.end - left, thread);
      ++done;
    }
  }
  finish_units(done);
}

void ThreadPool::run_unit(Index unit, Index thread) {
  const Index begin = unit * unit_chunks_;
  const Index end = std::min(chunks_, begin + unit_chunks_);
  for (Index chunk = begin; chunk < end; ++chunk) {
    try {
      if (chunk < failed_chunk_.load(std::memory_order_relaxed)) {
        function_(body_, thread, chunk);
      }
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      if (chunk < failed_chunk_) {
        failed_chunk_ = chunk;
        error_ = std::current_exception();
      }
    }
  }
}

// Waits up to `limit` for the team's threads, then starts with the arrived threads. Returns the
// size of the team, caller included.
Index ThreadPool::gather_team(JobId job, Index threads, Clock::duration limit) {
  const auto is_awaited = [&](Index thread) {
    const ThreadState& state = *states_[static_cast<std::size_t>(thread)];
    return units_of(state.left.load(std::memory_order_acquire)) > 0;
  };
  Index arrived = 1;
  const bool complete = spin_until(limit, [&] {
    while (arrived < threads && !is_awaited(arrived)) {
      ++arrived;
    }
    return arrived == threads;
  });
  if (!complete) {
    back_off_after(limit);
  }
  team_size_ = 1;
  for (Index thread = 1; thread < threads; ++thread) {
    ThreadState& state = *states_[static_cast<std::size_t>(thread)];
    if (take(state.left, job) == 0) {  // 0: it arrived; else it is excluded
      state.team_index = team_size_++;
    }
  }
  pending_.store(static_cast<std::uint32_t>(team_size_ - 1), std::memory_order_relaxed);
  begun_.fetch_add(1);
  begun_.notify_all();
  return team_size_;
}

void ThreadPool::join_team(JobId job, Index thread) {
  ThreadState& state = *states_[static_cast<std::size_t>(thread)];
  const std::uint32_t before = begun_.load(std::memory_order_acquire);
  if (take(state.left, job) == 0) {
    return;
  }
  await_change(begun_, before, spin(kEndSpin));
  team_function_(body_, {state.team_index, team_size_, &barrier_});
  finish_units(1);
}

void ThreadPool::finish_units(std::uint32_t units) {
  if (units > 0 && pending_.fetch_sub(units) == units) {
    pending_.notify_one();
  }
}

void ThreadPool::wait_for_workers() {
  const auto is_done = [&] { return pending_.load(std::memory_order_acquire) == 0; };
  if (!spin_until(spin(kEndSpin), is_done)) {
    sleep_for_workers([&] {
      for (auto left = pending_.load(std::memory_order_acquire); left != 0;
           left = pending_.load(std::memory_order_acquire)) {
        pending_.wait(left, std::memory_order_acquire);
      }
    });
  }
}

template <class Sleep>
void ThreadPool::sleep_for_workers(const Sleep& sleep) {
  if (measures_team_) {
    sleep();
    return;
  }
  const Clock::time_point start = Clock::now();
  const Clock::duration computed = cpu_time_of_workers();
  sleep();
  back_off_after(Clock::now() - start - (cpu_time_of_workers() - computed) - kWakeUpTime);
}

ThreadPool::Clock::duration ThreadPool::cpu_time_of_workers() const {
  Clock::duration sum{0};
  for (Index thread = 1; thread < threads_; ++thread) {
    sum += time_of(states_[static_cast<std::size_t>(thread)]->cpu_clock);
  }
  return sum;
}

ThreadPool::Clock::duration ThreadPool::cpu_time_of_all() const {
  return time_of(CLOCK_THREAD_CPUTIME_ID) + cpu_time_of_workers();
}

// Starts a backoff after a positive loss; ignores gains (`lost` <= 0).
void ThreadPool::back_off_after(Clock::duration lost) {
  if (lost <= Clock::duration{0}) {
    return;
  }
  lost = std::min<Clock::duration>(lost, kMostLoss);
  const Clock::time_point now = Clock::now();
  const bool again = now - backoff_until_ < kMaxBackoff * lost;
  backoff_factor_ = again ? std::min(2 * backoff_factor_, kMaxBackoff) : kMinBackoff;
  backoff_until_ = now + backoff_factor_ * lost;
  in_backoff_ = true;
}

// Reserves the pool for this thread; returns false if another thread has it.
bool ThreadPool::begin() { return !busy_.exchange(true, std::memory_order_acquire); }

void ThreadPool::end() { busy_.store(false, std::memory_order_release); }

bool ThreadPool::in_backoff() {
  in_backoff_ = in_backoff_ && Clock::now() < backoff_until_;
  return in_backoff_;
}

// Returns the time that one thread takes for the work, or the maximum if it was not measured.
ThreadPool::Clock::duration ThreadPool::serial_time(Index work) const {
  return kSameWork * std::abs(work - serial_.work) < work ? serial_.took : Clock::duration::max();
}

void TeamBarrier::sleep(unsigned round, Index member) const {
  const auto sleep = [&] { round_.wait(round, std::memory_order_acquire); };
  if (member == 0) {
    ThreadPool::instance().sleep_for_workers(sleep);
  } else {
    sleep();
  }
}

}  // namespace headlight::kernels
