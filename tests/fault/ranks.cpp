#include <csignal>
#include <random>

#include "fault/campaigns.h"
#include "fault/training_case.h"
#include "support/programs/launcher.h"

namespace headlight::fault {
namespace {

constexpr long kRankUpdates = 60;
constexpr double kLongestEnd = 30;  // seconds until the other processes must end

// Distributed run whose random processes are killed.
class KilledRanks {
 public:
  KilledRanks(TrainingCase& training, Tally& tally, std::mt19937& random)
      : training_(training), tally_(tally), random_(random) {}

  void run() {
    training_.reset();
    training_.set_processes(random_() % 2 == 0 ? 2 : 4);
    const long saved = kill_one();
    training_.set_processes(1 << random_() % 3);
    const std::string problem = training_.recover(saved);
    tally_.count("lost", training_.resumed_from() < saved ? 1 : 0);
    tally_.count("runs that ended with other bits", problem.empty() ? 0 : 1);
    tally_.problem(problem);
  }

 private:
  // Kills a process. Returns the step of the last checkpoint reported as saved, or -1.
  long kill_one() {
    constexpr double kStart = 0.3;  // seconds that mpirun needs to start them
    Process launcher = training_.start(false);
    std::uniform_real_distribution<double> delay(kStart, kStart + 3 * training_.control_seconds());
    if (launcher.ends_within(delay(random_))) {
      return last_saved(launcher.wait().err);
    }
    const std::vector<pid_t> ranks = launcher.children();
    if (!ranks.empty()) {
      ::kill(ranks[random_() % ranks.size()], SIGKILL);
      tally_.count("killed");
    }
    if (!launcher.ends_within(kLongestEnd)) {
      tally_.problem("the other processes keep running");
    }
    return last_saved(launcher.wait().err);
  }

  TrainingCase& training_;
  Tally& tally_;
  std::mt19937& random_;
};
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
    KilledRanks(training, tally, random).run();
    tally.count("runs compared with the one of one process");
  }
  return tally.report();
}
}  // namespace headlight::fault
