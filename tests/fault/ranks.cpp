#include <csignal>
#include <random>

#include "fault/campaigns.h"
#include "fault/training_case.h"
#include "support/programs/launcher.h"

namespace headlight::fault {
namespace {

constexpr long kRankUpdates = 60;
constexpr double kLongestEnd = 30;  // seconds until the other processes must end

// Kills a random process of a run. Returns the step of the last checkpoint reported as saved, or
// -1.
long kill_one(TrainingCase& training, Tally& tally, std::mt19937& random) {
  constexpr double kStart = 0.3;  // seconds that mpirun needs to start them
  Process launcher = training.start(false);
  std::uniform_real_distribution<double> delay(kStart, kStart + 3 * training.control_seconds());
  if (launcher.ends_within(delay(random))) {
    return last_saved(launcher.wait().err);
  }
  const std::vector<pid_t> ranks = launcher.children();
  if (!ranks.empty()) {
    ::kill(ranks[random() % ranks.size()], SIGKILL);
    tally.count("killed");
  }
  if (!launcher.ends_within(kLongestEnd)) {
    tally.problem("the other processes keep running");
  }
  return last_saved(launcher.wait().err);
}

void kill_and_resume(TrainingCase& training, Tally& tally, std::mt19937& random) {
  training.reset();
  training.set_processes(random() % 2 == 0 ? 2 : 4);
  const long saved = kill_one(training, tally, random);
  training.set_processes(1 << random() % 3);
  const std::string problem = training.recover(saved);
  tally.count("lost", training.resumed_from() < saved ? 1 : 0);
  tally.count("runs that ended with other bits", problem.empty() ? 0 : 1);
  tally.problem(problem);
}
}  // namespace

bool run_ranks(long count, unsigned seed) {
  Tally tally("kill -9 of one process among 2 or 4, seed " + std::to_string(seed));
  if (!test::has_launcher()) {
    tally.count("mpirun is not installed, or the program has no MPI: left out");
    return tally.report();
  }
  TrainingCase training({.updates = kRankUpdates, .more = {"--shards", "4"}});
  std::mt19937 random(seed);
  for (long i = 0; i < count; ++i) {
    kill_and_resume(training, tally, random);
    tally.count("runs compared with the one of one process");
  }
  return tally.report();
}
}  // namespace headlight::fault
