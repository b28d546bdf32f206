#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "fault/campaigns.h"
#include "fault/disk.h"
#include "fault/training_case.h"

namespace headlight::fault {
namespace {

namespace fs = std::filesystem;
using Share = PowerLoss::Share;

// State of the disk after a power failure, with the checkpoint that it must contain.
struct State {
  Snapshot found;
  long saved = -1;
  std::string when;
};

// Step of RUN/latest, which the program sets after a checkpoint is complete. -1: none yet.
long promised_checkpoint(const Disk& disk) {
  constexpr std::size_t kPrefix = 5;  // step_
  const std::string name = disk.link_target("run/latest");
  return name.size() > kPrefix ? std::atol(name.c_str() + kPrefix) : -1;
}

std::vector<PowerLoss> losses(unsigned seed) {
  std::vector<PowerLoss> all;
  for (const Share names : {Share::none, Share::all}) {
    for (const Share data : {Share::none, Share::all, Share::cut, Share::zeros}) {
      all.push_back({.names = names, .data = data});
    }
  }
  for (unsigned i = 0; i < 4; ++i) {
    all.push_back({.names = Share::random, .data = Share::random, .seed = 4 * seed + i});
  }
  return all;
}

// Distinct disk states that the records can leave after a power failure.
std::vector<State> states_of(const std::vector<CallRecord>& records, Disk& disk,
                             const PowerOptions& options) {
  std::vector<State> states;
  std::map<Snapshot, std::size_t> known;  // index in states
  unsigned call = 0;
  for (const CallRecord& record : records) {
    if (record.operation == Operation::sync && options.ignore_sync) {
      continue;
    }
    disk.apply(record);
    ++call;
    for (const PowerLoss& loss : losses(options.seed + call)) {
      State state{disk.after(loss), promised_checkpoint(disk),
                  "call " + std::to_string(call) + " (" + operation_name(record.operation) + " " +
                      record.path + "), names " + std::to_string(static_cast<int>(loss.names)) +
                      ", data " + std::to_string(static_cast<int>(loss.data))};
      const auto [same, is_new] = known.emplace(state.found, states.size());
      if (is_new) {
        states.push_back(std::move(state));
      } else {
        State& other = states[same->second];
        if (state.saved > other.saved) {  // the latest checkpoint that it must contain
          other = std::move(state);
        }
      }
    }
  }
  return states;
}

class PowerFailures {
 public:
  explicit PowerFailures(const PowerOptions& options)
      : tally_(options.ignore_sync ? "power failures with every fsync ignored" : "power failures"),
        options_(options),
        training_({.updates = 3}) {}

  bool run() {
    const Snapshot empty = take_snapshot(training_.root());
    const std::vector<CallRecord> whole = record(false);
    try_all("a new run", empty, whole);
    restore_snapshot(training_.root(), empty);
    kill_in_the_middle(whole);
    const Snapshot killed = take_snapshot(training_.root());
    try_all("a resumed run", killed, record(true));
    return tally_.report();
  }

 private:
  Environment injector() const {
    return {{"LD_PRELOAD", HEADLIGHT_INJECTOR}, {"FAULT_ROOT", training_.root().string()}};
  }

  std::vector<CallRecord> record(bool resume) const {
    const fs::path log = training_.aside("log");
    fs::remove(log);
    Environment environment = injector();
    environment["FAULT_LOG"] = log.string();
    const Ending ending = training_.train(resume, environment);
    if (ending.code != 0) {
      throw std::runtime_error("the recorded run fails: " + ending.err);
    }
    return parse_records(test::file_contents(log));
  }

  // Kills the run after some complete checkpoints and inside another.
  void kill_in_the_middle(const std::vector<CallRecord>& whole) const {
    const auto writes = std::count_if(whole.begin(), whole.end(), [](const CallRecord& record) {
      return record.operation == Operation::write;
    });
    Environment environment = injector();
    environment["FAULT_KIND"] = "tear";
    environment["FAULT_AT"] = std::to_string(writes * 3 / 5);
    if (training_.train(false, environment).code != kKilled) {
      throw std::runtime_error("the run that was to be killed goes on");
    }
  }

  void try_all(const std::string& what, const Snapshot& safe,
               const std::vector<CallRecord>& records) {
    Disk disk(training_.root().string(), safe);
    const std::vector<State> states = states_of(records, disk, options_);
    tally_.count("calls of " + what, static_cast<long>(records.size()));
    tally_.count("states of " + what, static_cast<long>(states.size()));
    const auto limit =
        options_.limit == 0 ? states.size() : static_cast<std::size_t>(options_.limit);
    const std::size_t tried = std::min(limit, states.size());
    for (std::size_t i = 0; i < tried; ++i) {
      try_state(what, states[i * states.size() / tried]);
    }
  }

  void try_state(const std::string& what, const State& state) {
    restore_snapshot(training_.root(), state.found);
    const std::string problem = training_.recover(state.saved);
    tally_.count("tried");
    tally_.count(training_.resumed_from() < 0 ? "started anew" : "resumed");
    tally_.problem(problem, what + ", " + state.when + ": ");
  }

  Tally tally_;
  PowerOptions options_;
  TrainingCase training_;
};
}  // namespace

bool run_power(const PowerOptions& options) { return PowerFailures(options).run(); }
}  // namespace headlight::fault
