#pragma once

#include <atomic>

#include "headlight/base/index.h"
#include "kernels/waiting.h"

// Threads that take many short steps in a row together, where a parallel loop for each step would
// cost more than the steps.
namespace headlight::kernels {

// Where the threads of a team wait for each other. A wait is short when every thread has a core, so
// it spins; when cores are shared, the partner may need this very core, so it soon sleeps. (To
// yield would be worse: a thread that yields goes to the end of the queue, and its partner then
// waits for it at the next barrier, a time slice each. One that sleeps is let in as soon as it is
// woken.)
class TeamBarrier {
 public:
  void wait(Index member, Index team_size) {
    const unsigned round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == team_size) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1);
      round_.notify_all();
      return;
    }
    for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
      if (spins < kSpins) {
        pause();
      } else {
        sleep(round, member);
      }
    }
  }

 private:
  static constexpr int kSpins = 2000;

  void sleep(unsigned round, Index member) const;

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
      shared_barrier->wait(index, size);
    }
  }

  // This member's even share of `count` items.
  Index share_begin(Index count) const { return count * index / size; }
  Index share_end(Index count) const { return count * (index + 1) / size; }
};

// A team's body without its type.
using TeamFunction = void (*)(const void* body, const TeamMember& member);

void run_team(Index threads, Index work, TeamFunction function, const void* body);

// Calls body(member) once on each of up to `threads` threads: those that have come when the team
// begins, which waits for them for a small part of the time that `work` takes, the multiply-adds of
// all members together. The shares depend on how many they are, so the bits of an item must not
// depend on its share. Bodies must not throw.
template <class Body>
void parallel_team(Index threads, Index work, const Body& body) {
  const auto call = [](const void* typeless, const TeamMember& member) {
    (*static_cast<const Body*>(typeless))(member);
  };
  run_team(threads, work, call, &body);
}

}  // namespace headlight::kernels
