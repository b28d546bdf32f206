#pragma once

#include <atomic>

#include "headlight/base/index.h"

// Teams of threads that take many short steps in a row. A parallel loop per step would cost more
// than the steps.
namespace headlight::kernels {

// Hints to the core that this thread polls.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// Barrier of a team's threads. It spins, because waits are short when every thread has a core. If
// threads share a core, spinning blocks the partner, so it sleeps after kSpins polls. Yielding
// would be worse: a yielding thread moves to the end of the run queue, and its partner then waits a
// time slice at the next barrier. A sleeping thread runs as soon as it is woken.
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

// A member of a team, as its body receives it.
struct TeamMember {
  Index index = 0;
  Index size = 1;
  TeamBarrier* shared_barrier = nullptr;

  // Waits for all members; everything that a member did before is then visible to all.
  void barrier() const {
    if (size > 1) {
      shared_barrier->wait(index, size);
    }
  }

  // Start and end of this member's even share of `count` items.
  Index share_begin(Index count) const { return count * index / size; }
  Index share_end(Index count) const { return count * (index + 1) / size; }
};

// A type-erased body of a team.
using TeamFunction = void (*)(const void* body, const TeamMember& member);

void run_team(Index threads, Index work, TeamFunction function, const void* body);

// Calls body(member) once on each of up to `threads` threads. The team waits briefly for its
// threads, in proportion to `work`, and starts with the arrived threads. `work` is the number of
// multiply-adds of all members together. Shares depend on the team's size, so the bits of an item
// must not depend on its share. Bodies must not throw.
template <class Body>
void parallel_team(Index threads, Index work, const Body& body) {
  const auto call = [](const void* typeless, const TeamMember& member) {
    (*static_cast<const Body*>(typeless))(member);
  };
  run_team(threads, work, call, &body);
}

}  // namespace headlight::kernels
