#include <csignal>
#include <random>

#include "fault/campaigns.h"
#include "fault/training_case.h"

namespace headlight::fault {
namespace {

constexpr long kSignalUpdates = 200;

class Signals {
 public:
  Signals(long count, unsigned seed)
      : count_(count),
        tally_("SIGINT and SIGTERM at random instants, seed " + std::to_string(seed)),
        random_(seed),
        training_({.updates = kSignalUpdates}) {}

  bool run() {
    for (long i = 0; i < count_; ++i) {
      training_.reset();
      const bool twice = i % 4 == 3;
      const Ending ending = interrupted(i % 2 == 0 ? SIGINT : SIGTERM, twice);
      judge(ending, twice);
    }
    return tally_.report();
  }

 private:
  // Waits for the first step: before main() sets its handlers, a signal ends any program.
  Ending interrupted(int signal, bool twice) {
    std::uniform_real_distribution<double> delay(0, 0.7 * training_.control_seconds());
    Process process = training_.start(false);
    while (process.messages().find("\niter 1") == std::string::npos && !process.ends_within(1e-3)) {
    }
    process.ends_within(delay(random_));
    process.send(signal);
    if (twice) {
      process.send(signal == SIGINT ? SIGTERM : SIGINT);
    }
    return process.wait();
  }

  // The program may be done before the second signal.
  void judge(const Ending& ending, bool twice) {
    const bool expected = ending.code == 0 || (twice && ending.code == 130);
    tally_.count("ended with exit code " + std::to_string(ending.code));
    const long saved = last_saved(ending.err);
    if (!expected || (ending.code == 0 && saved < 1)) {
      tally_.problem(ending.summary() + "; saved " + std::to_string(saved));
    }
    const std::string problem = training_.recover(saved);
    tally_.count("resumed to the bits of the control", problem.empty() ? 1 : 0);
    tally_.problem(problem);
  }

  long count_;
  Tally tally_;
  std::mt19937 random_;
  TrainingCase training_;
};
}  // namespace

bool run_signals(long count, unsigned seed) { return Signals(count, seed).run(); }
}  // namespace headlight::fault
