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

// Processes of one job, which run the same program with the same arguments. All of them must make
// collective calls in the same order. Their number is a power of two.
class Processes {
 public:
  virtual ~Processes() = default;

  virtual Index rank() const = 0;  // number of this process, from 0
  virtual Index count() const = 0;
  // Whether this is process 0, which alone writes files and prints.
  bool leads() const { return rank() == 0; }

  // Sends runs of memory to process `partner` and receives runs from it; the partner must call it
  // at the same time. Both must agree on the number and lengths of the runs. Throws PeerFailed
  // when a process has given up, Error when the partner is silent for too long. One thread at a
  // time.
  virtual void exchange_runs(Index partner, std::span<const std::span<const std::byte>> sent,
                             std::span<const std::span<std::byte>> received) = 0;
  // Sends one run to the partner and receives one run from it; an empty span means no run.
  void exchange(Index partner, std::span<const std::byte> sent, std::span<std::byte> received) {
    exchange_runs(partner, {&sent, sent.empty() ? 0U : 1U},
                  {&received, received.empty() ? 0U : 1U});
  }
  // Reports a failure of this process: collective calls of the others throw PeerFailed from now
  // on. Nothing can be exchanged afterwards. Returns true when a process of a lower rank has failed
  // as well: that one reports the reason.
  virtual bool give_up() noexcept = 0;
};

// Another process has failed and reports the reason.
class PeerFailed : public Error {
 public:
  using Error::Error;
};

// A job of this process alone.
Processes& alone();

// Returns the processes that a launcher (mpirun, srun) has started with this one, or null without a
// launcher; then no library is loaded. Throws Error when the plug-in (beside the program, or
// HEADLIGHT_MPI) or its library cannot be loaded, or the number is no power of two. All processes
// but one throw PeerFailed instead.
std::unique_ptr<Processes> launched_processes();

// Returns the launcher's number of processes on this machine; 1 if unknown.
Index launched_on_this_machine();

// Describes the support for launchers: "MPI (Open MPI v4.1.4)", or why there is none.
std::string describe_launcher_support();

// Gathers one text per process, by rank. Collective.
std::vector<std::string> gather_texts(Processes& processes, const std::string& local);

// Replaces each number by its sum over all processes. The order of additions is a binary tree over
// the ranks, so all processes get the same bits.
void add_across(Processes& processes, std::span<double> numbers);

// Returns, in all processes, whether `local` is true in any of them.
bool is_true_in_any(Processes& processes, bool local);

// Returns the `local` of process 0 in all processes.
bool decided_by_leader(Processes& processes, bool local);

// Rethrows `local` in the process of the lowest rank that failed, and throws PeerFailed in the
// others. Returns if none has failed. `local`: the exception caught here, or null.
void fail_together(Processes& processes, const std::exception_ptr& local);

// Calls `work` in every process. If it throws in any, all throw: see fail_together().
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
