#include <csignal>
#include <filesystem>
#include <memory>

#include "fault/campaigns.h"
#include "fault/training_case.h"

namespace headlight::fault {
namespace {

namespace fs = std::filesystem;

constexpr int kWriters = 8;
constexpr int kLocked = 4;  // exit code of a run whose directory is in use
constexpr long kLockedUpdates = 400;

// Starts all programs at once on one run directory. Returns their endings.
std::vector<Ending> race(const TrainingCase& training, bool resume) {
  std::vector<std::unique_ptr<Process>> all;
  for (int i = 0; i < kWriters; ++i) {
    const fs::path output = training.aside("writer" + std::to_string(i));
    fs::create_directories(output);
    all.push_back(std::unique_ptr<Process>(new Process(training.start(resume, {}, output))));
  }
  std::vector<Ending> endings;
  for (const auto& process : all) {
    endings.push_back(process->wait());
  }
  return endings;
}

// Checks that one program trains to the end and the others exit with one error line.
void judge_race(const std::vector<Ending>& endings, const TrainingCase& training, Tally& tally) {
  long winners = 0;
  for (const Ending& ending : endings) {
    winners += ending.code == 0 ? 1 : 0;
    tally.count("ended with exit code " + std::to_string(ending.code));
    const std::string manners = bad_manners(ending);
    // A late program finds the finished run of the winner.
    const bool late =
        ending.code == 2 && ending.err.find("contains a run already") != ending.err.npos;
    if (!manners.empty() || (ending.code != 0 && ending.code != kLocked && !late)) {
      tally.problem(ending.summary());
    }
  }
  if (winners != 1) {
    tally.problem(std::to_string(winners) + " programs trained in one run directory, expected 1");
  }
  const std::string different = training.difference();
  tally.problem(different, "the program that trained got another result: ");
}

// Checks that kill -9 frees the lock and a second program resumes.
void kill_the_holder(TrainingCase& training, Tally& tally) {
  training.reset();
  Process holder = training.start(false);
  while (last_saved(holder.messages()) < 1 && !holder.ends_within(1e-3)) {
  }
  holder.send(SIGSTOP);  // keeps it running until the second program has tried
  const fs::path output = training.aside("second");
  fs::create_directories(output);
  const Ending second = training.start(true, {}, output).wait();
  if (second.code != kLocked || second.errors().size() != 1) {
    tally.problem("second program, while the first holds the run: " + second.summary());
  }
  holder.send(SIGKILL);
  const long saved = last_saved(holder.wait().err);
  const std::string problem = training.recover(saved);
  tally.count("resumed after kill -9 of the holder");
  tally.problem(problem, "after kill -9 of the holder: ");
}
}  // namespace

bool run_lock() {
  TrainingCase training({.updates = kLockedUpdates});
  Tally tally("eight programs on one run directory");
  judge_race(race(training, false), training, tally);
  kill_the_holder(training, tally);
  return tally.report();
}
}  // namespace headlight::fault
