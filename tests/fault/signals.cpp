#include <csignal>
#include <random>

#include "fault/campaigns.h"
#include "fault/training_case.h"

namespace headlight::fault {
namespace {

constexpr long kSignalUpdates = 200;

// Waits for the first step: before main() sets its handlers, a signal ends any program.
Ending interrupted(const TrainingCase& training, int signal, bool twice, std::mt19937& random) {
  std::uniform_real_distribution<double> delay(0, 0.7 * training.control_seconds());
  Process process = training.start(false);
  while (process.messages().find("\niter 1") == std::string::npos && !process.ends_within(1e-3)) {
  }
  process.ends_within(delay(random));
  process.send(signal);
  if (twice) {
    process.send(signal == SIGINT ? SIGTERM : SIGINT);
  }
  return process.wait();
}

// The program may be done before the second signal.
void judge(TrainingCase& training, const Ending& ending, bool twice, Tally& tally) {
  const bool expected = ending.code == 0 || (twice && ending.code == 130);
  tally.count("ended with exit code " + std::to_string(ending.code));
  const long saved = last_saved(ending.err);
  if (!expected || (ending.code == 0 && saved < 1)) {
    tally.problem(ending.summary() + "; saved " + std::to_string(saved));
  }
  const std::string problem = training.recover(saved);
  tally.count("resumed to the bits of the control", problem.empty() ? 1 : 0);
  tally.problem(problem);
}
}  // namespace

bool run_signals(long count, unsigned seed) {
  Tally tally("SIGINT and SIGTERM at random instants, seed " + std::to_string(seed));
  std::mt19937 random(seed);
  TrainingCase training({.updates = kSignalUpdates});
  for (long i = 0; i < count; ++i) {
    training.reset();
    const bool twice = i % 4 == 3;
    judge(training, interrupted(training, i % 2 == 0 ? SIGINT : SIGTERM, twice, random), twice,
          tally);
  }
  return tally.report();
}
}  // namespace headlight::fault
