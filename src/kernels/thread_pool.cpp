#include "kernels/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "headlight/kernels/machine.h"
#include "kernels/parallel.h"
#include "kernels/processors.h"

namespace headlight::kernels {
namespace {

using std::chrono::microseconds;

// Layout of a ticket: number, team bit, number of called threads (never 0, so no ticket is 0).
constexpr int kThreadBits = 11;
constexpr std::uint32_t kTeamBit = 1U << kThreadBits;
constexpr std::uint32_t kNumberStep = kTeamBit << 1U;
constexpr int kTicketShift = 32;
constexpr Index kMostUnits = Index{1} << 30;

// Time that a thread polls before it sleeps. kIdleSpin: for its next loop, which in a training step
// usually starts sooner. kEndSpin: for the other threads of its loop or team.
constexpr microseconds kIdleSpin{200};
constexpr microseconds kEndSpin{50};

// Time that a team waits for its members. A polling thread arrives in 0.5 us. A sleeping thread
// takes 50 us, or hundreds if other threads occupy its core. A team with more work waits longer.
constexpr microseconds kShortPatience{3};
constexpr microseconds kLongPatience{100};
constexpr microseconds kMostPatience{1000};
constexpr Index kLongWork = 2'000'000;      // multiply-adds
constexpr Index kWorkOfPatience = 250'000;  // multiply-adds per microsecond of waiting

// After losing time to threads that were not running, the pool rests: the caller computes alone. A
// rest lasts kLeastRest times the lost time. It doubles, up to kMostRest times, if the next loss
// comes within kMostRest times that loss after the previous rest. kWaking, the time to wake a
// sleeping thread, is not a loss. For a team with long work, the loss is its time minus the time of
// one thread alone, as measured during a rest. The CPU time of all members limits that time: they
// share the memory bandwidth, and the caller may lose its core too. kMostLoss limits the loss of a
// suspended program.
constexpr int kLeastRest = 2;
constexpr int kMostRest = 64;
constexpr microseconds kWaking{100};
constexpr microseconds kMostLoss{100'000};
constexpr Index kSameWork = 16;  // two works are the same if they differ by less than 1/16

Index threads_of(std::uint32_t ticket) { return ticket & (kTeamBit - 1); }
bool is_team(std::uint32_t ticket) { return (ticket & kTeamBit) != 0; }
std::uint32_t ticket_of(std::uint64_t left) {
  return static_cast<std::uint32_t>(left >> kTicketShift);
}
Index units_of(std::uint64_t left) { return static_cast<std::uint32_t>(left); }
std::uint64_t units_left(std::uint32_t ticket, Index units) {
  return std::uint64_t{ticket} << kTicketShift | static_cast<std::uint64_t>(units);
}

// Takes one unit of a share of the loop or team `ticket`. Returns the number of units left before;
// 0: none were left, or the share belongs to another ticket.
Index take(std::atomic<std::uint64_t>& left, std::uint32_t ticket) {
  std::uint64_t seen = left.load(std::memory_order_acquire);
  while (ticket_of(seen) == ticket && units_of(seen) > 0) {
    if (left.compare_exchange_weak(seen, seen - 1, std::memory_order_acquire)) {
      return units_of(seen);
    }
  }
  return 0;
}

microseconds patience_for(Index work, microseconds most) {
  return work < kLongWork ? kShortPatience
                          : std::clamp(microseconds(work / kWorkOfPatience), kLongPatience, most);
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
  constexpr int kPollsOfLook = 16;  // polls per look at the clock, which is slower than a poll
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    for (int poll = 0; poll < kPollsOfLook; ++poll) {
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
  places_[0] = std::make_unique<ThreadState>();
  pthread_atfork(nullptr, nullptr, [] { instance().forget_threads(); });
}

// Resets the pool in the child of a fork, which has only the forking thread.
void ThreadPool::forget_threads() {
  started_ = 1;
  wanted_ = 1;
  weighs_team_ = false;
  busy_ = false;
}

bool ThreadPool::run_chunks(Index chunks, Index threads, ChunkFunction function, const void* body) {
  if (!begin()) {
    return false;
  }
  if (rests()) {
    end();
    return false;
  }
  threads = start_threads(threads);
  chunks_ = chunks;
  unit_chunks_ = chunk_count(chunks, kMostUnits);
  function_ = function;
  body_ = body;
  failed_chunk_.store(chunks, std::memory_order_relaxed);
  work(offer(chunk_count(chunks, unit_chunks_), threads), 0);
  wait_for_others();
  const std::exception_ptr error = std::exchange(error_, nullptr);
  end();
  if (error) {
    std::rethrow_exception(error);
  }
  return true;
}

// Divides the units into shares and wakes the threads.
ThreadPool::Ticket ThreadPool::offer(Index units, Index threads) {
  pending_.store(static_cast<std::uint32_t>(units), std::memory_order_relaxed);
  const Ticket ticket = next_ticket(threads, false);
  for (Index thread = 0; thread < threads; ++thread) {
    ThreadState& place = *places_[static_cast<std::size_t>(thread)];
    place.end = units * (thread + 1) / threads;
    place.left.store(units_left(ticket, place.end - units * thread / threads),
                     std::memory_order_release);
  }
  for (Index thread = 1; thread < threads; ++thread) {
    call(thread, ticket);
  }
  return ticket;
}

bool ThreadPool::run_team(Index threads, Index work, TeamFunction function, const void* body) {
  if (!begin()) {
    return false;
  }
  if (rests()) {
    const Clock::time_point start = Clock::now();
    function(body, {});
    alone_ = {work, Clock::now() - start};
    end();
    return true;
  }
  threads = start_threads(threads);
  team_function_ = function;
  body_ = body;
  const Ticket ticket = next_ticket(threads, true);
  for (Index thread = 1; thread < threads; ++thread) {
    ThreadState& place = *places_[static_cast<std::size_t>(thread)];
    place.left.store(units_left(ticket, 1), std::memory_order_release);
    call(thread, ticket);
  }
  const auto patience = patience_for(work, spins_ ? kMostPatience : kLongPatience);
  const Index size = gather(ticket, threads, patience);
  weighs_team_ = size > 1 && work >= kLongWork * threads;
  const Clock::duration computed = weighs_team_ ? computed_by_all() : Clock::duration{0};
  const Clock::time_point start = Clock::now();
  function(body, {0, size, &barrier_});
  wait_for_others();
  if (std::exchange(weighs_team_, false)) {
    const Clock::duration took = Clock::now() - start;
    rest_after(took - std::min(computed_by_all() - computed, time_alone(work)));
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
        auto& place = places_[static_cast<std::size_t>(started_)];
        place = std::make_unique<ThreadState>();
        std::thread thread([this, number = started_] { serve(number); });
        pthread_getcpuclockid(thread.native_handle(), &place->computed);
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

ThreadPool::Ticket ThreadPool::next_ticket(Index threads, bool team) {
  newest_ = (newest_ & ~(kNumberStep - 1)) + kNumberStep;
  return newest_ | (team ? kTeamBit : 0U) | static_cast<Ticket>(threads);
}

// With more threads than CPUs, a polling thread would keep a CPU from the thread it waits for.
ThreadPool::Clock::duration ThreadPool::spin(Clock::duration limit) const {
  return spins_.load(std::memory_order_relaxed) ? limit : Clock::duration{0};
}

void ThreadPool::call(Index thread, Ticket ticket) {
  std::atomic<Ticket>& word = places_[static_cast<std::size_t>(thread)]->call;
  word.store(ticket);
  word.notify_one();
}

// Main loop of a pool thread.
void ThreadPool::serve(Index thread) {
  bind_to_place(thread);
  const SingleThreadScope nested_loops_stay_here;
  const std::atomic<Ticket>& word = places_[static_cast<std::size_t>(thread)]->call;
  for (Ticket ticket = 0;;) {
    ticket = await_change(word, ticket, spin(kIdleSpin));
    is_team(ticket) ? join(ticket, thread) : work(ticket, thread);
  }
}

// Takes units of the loop `ticket` until none is left, starting with this thread's own share.
void ThreadPool::work(Ticket ticket, Index thread) {
  const Index threads = threads_of(ticket);
  std::uint32_t done = 0;
  for (Index i = 0; i < threads; ++i) {
    ThreadState& place = *places_[static_cast<std::size_t>((thread + i) % threads)];
    while (const Index left = take(place.left, ticket)) {
      run_unit(place.end - left, thread);
      ++done;
    }
  }
  leave(done);
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

// Waits up to `patience` for the team's threads, then starts with those that arrived. Returns the
// size of the team, caller included.
Index ThreadPool::gather(Ticket ticket, Index threads, Clock::duration patience) {
  const auto is_awaited = [&](Index thread) {
    const ThreadState& place = *places_[static_cast<std::size_t>(thread)];
    return units_of(place.left.load(std::memory_order_acquire)) > 0;
  };
  Index came = 1;
  const bool complete = spin_until(patience, [&] {
    while (came < threads && !is_awaited(came)) {
      ++came;
    }
    return came == threads;
  });
  if (!complete) {
    rest_after(patience);
  }
  team_size_ = 1;
  for (Index thread = 1; thread < threads; ++thread) {
    ThreadState& place = *places_[static_cast<std::size_t>(thread)];
    if (take(place.left, ticket) == 0) {  // 0: it arrived; else it is excluded
      place.seat = team_size_++;
    }
  }
  pending_.store(static_cast<std::uint32_t>(team_size_ - 1), std::memory_order_relaxed);
  begun_.fetch_add(1);
  begun_.notify_all();
  return team_size_;
}

void ThreadPool::join(Ticket ticket, Index thread) {
  ThreadState& place = *places_[static_cast<std::size_t>(thread)];
  const std::uint32_t before = begun_.load(std::memory_order_acquire);
  if (take(place.left, ticket) == 0) {
    return;
  }
  await_change(begun_, before, spin(kEndSpin));
  team_function_(body_, {place.seat, team_size_, &barrier_});
  leave(1);
}

void ThreadPool::leave(std::uint32_t units) {
  if (units > 0 && pending_.fetch_sub(units) == units) {
    pending_.notify_one();
  }
}

void ThreadPool::wait_for_others() {
  const auto is_done = [&] { return pending_.load(std::memory_order_acquire) == 0; };
  if (!spin_until(spin(kEndSpin), is_done)) {
    sleep_for_others([&] {
      for (auto left = pending_.load(std::memory_order_acquire); left != 0;
           left = pending_.load(std::memory_order_acquire)) {
        pending_.wait(left, std::memory_order_acquire);
      }
    });
  }
}

template <class Sleep>
void ThreadPool::sleep_for_others(const Sleep& sleep) {
  if (weighs_team_) {
    sleep();
    return;
  }
  const Clock::time_point start = Clock::now();
  const Clock::duration computed = computed_by_others();
  sleep();
  rest_after(Clock::now() - start - (computed_by_others() - computed) - kWaking);
}

ThreadPool::Clock::duration ThreadPool::computed_by_others() const {
  Clock::duration sum{0};
  for (Index thread = 1; thread < threads_; ++thread) {
    sum += time_of(places_[static_cast<std::size_t>(thread)]->computed);
  }
  return sum;
}

ThreadPool::Clock::duration ThreadPool::computed_by_all() const {
  return time_of(CLOCK_THREAD_CPUTIME_ID) + computed_by_others();
}

// Starts a rest after a positive loss; ignores gains (`lost` <= 0).
void ThreadPool::rest_after(Clock::duration lost) {
  if (lost <= Clock::duration{0}) {
    return;
  }
  lost = std::min<Clock::duration>(lost, kMostLoss);
  const Clock::time_point now = Clock::now();
  const bool again = now - rests_until_ < kMostRest * lost;
  rest_ = again ? std::min(2 * rest_, kMostRest) : kLeastRest;
  rests_until_ = now + rest_ * lost;
  rests_ = true;
}

// Reserves the pool for this thread; returns false if another thread has it.
bool ThreadPool::begin() { return !busy_.exchange(true, std::memory_order_acquire); }

void ThreadPool::end() { busy_.store(false, std::memory_order_release); }

bool ThreadPool::rests() {
  rests_ = rests_ && Clock::now() < rests_until_;
  return rests_;
}

// Returns the time that one thread takes for the work, or the maximum if it was not measured.
ThreadPool::Clock::duration ThreadPool::time_alone(Index work) const {
  return kSameWork * std::abs(work - alone_.work) < work ? alone_.took : Clock::duration::max();
}

void TeamBarrier::sleep(unsigned round, Index member) const {
  const auto sleep = [&] { round_.wait(round, std::memory_order_acquire); };
  if (member == 0) {
    ThreadPool::instance().sleep_for_others(sleep);
  } else {
    sleep();
  }
}

}  // namespace headlight::kernels
