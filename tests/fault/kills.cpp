#include <csignal>
#include <random>

#include "fault/campaigns.h"
#include "fault/training_case.h"

namespace headlight::fault {
namespace {

constexpr long kUpdates = 200;
constexpr long kKillsPerRun = 5;  // then it runs to its end and is compared

// Run that is killed several times. It must keep every checkpoint that it reported as saved.
class KilledRun {
 public:
  KilledRun(TrainingCase& training, Tally& tally, std::mt19937& random)
      : training_(training), tally_(tally), random_(random) {}

  // Kills the run up to `most` times. Returns the number of kills.
  long run(long most) {
    training_.reset();
    long struck = 0;
    while (struck < most && kill_once()) {
      ++struck;
    }
    const std::string problem = training_.recover(saved_);
    tally_.count("lost", training_.resumed_from() < saved_ ? 1 : 0);
    tally_.count("runs that ended with other bits", problem.empty() ? 0 : 1);
    tally_.problem(problem);
    return struck;
  }

 private:
  // Returns false if the run ended before the kill.
  bool kill_once() {
    const bool resumes = saved_ >= 0;
    if (!resumes) {
      training_.reset();
    }
    std::uniform_real_distribution<double> delay(0, 0.6 * training_.control_seconds());
    Process process = training_.start(resumes);
    const bool done = process.ends_within(delay(random_));
    process.send(SIGKILL);
    const Ending ending = process.wait();
    if (done) {
      check_completed(ending);
      return false;
    }
    tally_.count("killed");
    saved_ = std::max(saved_, last_saved(ending.err));
    return true;
  }

  void check_completed(const Ending& ending) {
    if (ending.code != 0) {
      tally_.problem("the undisturbed run fails: " + ending.summary());
    }
  }

  TrainingCase& training_;
  Tally& tally_;
  std::mt19937& random_;
  long saved_ = -1;
};
}  // namespace

bool run_kills(long count, unsigned seed) {
  TrainingCase training({.updates = kUpdates});
  Tally tally("kill -9 at random instants, seed " + std::to_string(seed));
  std::mt19937 random(seed);
  long struck = 0;
  while (struck < count) {
    struck += KilledRun(training, tally, random).run(std::min(kKillsPerRun, count - struck));
    tally.count("runs compared with the control");
  }
  return tally.report();
}
}  // namespace headlight::fault
