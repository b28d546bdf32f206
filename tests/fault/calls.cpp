#include <filesystem>
#include <random>

#include "fault/campaigns.h"
#include "fault/training_case.h"

namespace headlight::fault {
namespace {

namespace fs = std::filesystem;

constexpr long kTornWrite = 100;  // three steps make about 140 writes

// Injects a fault at each call of a run in turn, or at every `stride`-th from a random one.
class CallWalk {
 public:
  CallWalk(const std::string& kind, long stride)
      : stride_(stride),
        first_(1 + static_cast<long>(std::random_device()() % static_cast<unsigned long>(stride))),
        tally_("fault " + kind + " at calls " + std::to_string(first_) + ", " +
               std::to_string(first_ + stride) + ", ..."),
        kind_(kind.substr(0, kind.find('+'))),
        repeats_(kind.find('+') != std::string::npos),
        training_({.updates = 3}) {}

  bool walk() {
    walk_through("a new run");
    training_.set_base(half_done());
    resumes_ = true;
    walk_through("a resumed run");
    return tally_.report();
  }

 private:
  bool is_deadly() const { return kind_ == "kill" || kind_ == "tear"; }
  bool is_harmless() const { return kind_ == "EINTR" || kind_ == "short"; }

  void walk_through(const std::string& what) {
    what_ = what;
    long at = first_;
    while (strike(at)) {
      at += stride_;
    }
    tally_.count("calls of " + what, (at - first_) / stride_);
  }

  // Files of a run that dies after two checkpoints, before the third is complete.
  Snapshot half_done() const {
    training_.reset();
    Process process = training_.start(false, environment("tear", kTornWrite));
    process.wait();
    return take_snapshot(training_.run());
  }

  Environment environment(const std::string& kind, long at) const {
    return {{"LD_PRELOAD", HEADLIGHT_INJECTOR},
            {"FAULT_ROOT", training_.root().string()},
            {"FAULT_KIND", kind},
            {"FAULT_AT", std::to_string(at)},
            {"FAULT_REPEAT", repeats_ ? "1" : "0"},
            {"FAULT_FIRED", training_.aside("fired").string()}};
  }

  // Injects the fault at call `at`. Returns false if the run makes fewer calls.
  bool strike(long at) {
    training_.reset();
    const fs::path fired = training_.aside("fired");
    fs::remove(fired);
    const Ending ending = training_.train(resumes_, environment(kind_, at));
    const std::string where = test::file_contents(fired);
    if (where.empty()) {
      tally_.count("unstruck runs that end like the control", 1);
      note(at, "no call left", ending.code == 0 ? training_.difference() : ending.summary());
      return false;
    }
    judge(at, where.substr(0, where.size() - 1), ending);
    return true;
  }

  void judge(long at, const std::string& where, const Ending& ending) {
    if (is_deadly()) {
      note(at, where, ending.code == kKilled ? "" : "it was not killed: " + ending.summary());
    } else {
      note(at, where, bad_manners(ending));
      tally_.count("ended with exit code " + std::to_string(ending.code));
    }
    if (is_harmless()) {
      note(at, where, ending.code == 0 ? training_.difference() : "it failed: " + ending.summary());
      return;
    }
    note(at, where, training_.recover(last_saved(ending.err)));
    tally_.count(training_.resumed_from() < 0 ? "started anew" : "resumed");
  }

  void note(long at, const std::string& where, const std::string& problem) {
    tally_.problem(problem,
                   what_ + ", " + kind_ + " at call " + std::to_string(at) + " (" + where + "): ");
  }

  long stride_;
  long first_;
  Tally tally_;
  std::string kind_;
  bool repeats_;
  bool resumes_ = false;
  std::string what_;
  TrainingCase training_;
};
}  // namespace

bool run_calls(const std::string& kind, long stride) { return CallWalk(kind, stride).walk(); }
}  // namespace headlight::fault
