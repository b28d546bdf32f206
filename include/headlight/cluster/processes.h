#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headlight/base/error.h"
#include "headlight/base/index.h"

namespace headlight {

// The processes of one job, which run the same program with the same arguments. What they do
// together, each of them calls in the same order. Their number is a power of two.
class Processes {
 public:
  virtual ~Processes() = default;

  virtual Index rank() const = 0;  // of this process, from 0
  virtual Index count() const = 0;
  // Of process 0: it alone writes and tells.
  bool leads() const { return rank() == 0; }

  // Sends runs of memory to the process of rank `partner` and receives others from it, as it does
  // with this one at the same time; both know how many will come and how long each is. Throws
  // OthersFailed when a process has given up, Error when one gives no sign of life for long. One
  // thread at a time.
  virtual void exchange_runs(Index partner, std::span<const std::span<const std::byte>> sent,
                             std::span<const std::span<std::byte>> received) = 0;
  // A run each; an empty one is none.
  void exchange(Index partner, std::span<const std::byte> sent, std::span<std::byte> received) {
    exchange_runs(partner, {&sent, sent.empty() ? 0U : 1U},
                  {&received, received.empty() ? 0U : 1U});
  }
  // Tells the others that this process cannot go on: what they do together throws OthersFailed from
  // now on. For the last moment: nothing can be exchanged after it. True when a process of a lower
  // rank has given up by itself, which then has told the reason.
  virtual bool give_up() noexcept = 0;
};

// Another process has failed and tells why.
class OthersFailed : public Error {
 public:
  using Error::Error;
};

// This process without others.
Processes& alone();

// The processes that a launcher (mpirun, srun) has started together with this one, or nothing when
// it was started by itself: then no library is looked for. Throws Error when the launcher's library
// or the part of Headlight that uses it (beside the program, or where HEADLIGHT_MPI says) cannot be
// loaded, and when their number is no power of two; OthersFailed in all but one of them.
std::unique_ptr<Processes> launched_processes();

// How many of them the launcher has started on this machine; 1: it does not say.
Index launched_on_this_machine();

// What launched_processes() would use: "MPI (Open MPI v4.1.4)", or why there is nothing.
std::string describe_launcher_support();

// The text that each process gives, by rank.
std::vector<std::string> gather_texts(Processes& processes, const std::string& mine);

// Each number becomes its sum over all processes: pairs are added, then pairs of pairs, so that the
// result is that of a binary tree over the ranks and the same everywhere.
void add_across(Processes& processes, std::span<double> numbers);

// True everywhere when it is true in one of them.
bool is_true_in_any(Processes& processes, bool mine);

// What process 0 says.
bool decided_by_leader(Processes& processes, bool mine);

// Throws what was caught in the process of the lowest rank that failed, and OthersFailed in the
// others; returns when none has failed. `mine` is what this process has caught, or nothing.
void fail_together(Processes& processes, const std::exception_ptr& mine);

// Does `work` in every process. When it throws in one, none goes on: see fail_together().
template <class Work>
void together(Processes& processes, const Work& work) {
  std::exception_ptr caught;
  try {
    work();
  } catch (...) {
    caught = std::current_exception();
  }
  if (processes.count() == 1 && caught == nullptr) {
    return;
  }
  fail_together(processes, caught);
}

}  // namespace headlight
