#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fault/snapshot.h"
#include "support/files.h"
#include "support/programs/process.h"

namespace headlight::fault {

using test::Ending;
using test::Environment;
using test::Process;

constexpr int kKilled = 128 + 9;  // exit code after kill -9

struct CaseOptions {
  long updates = 4;
  std::vector<std::string> more = {};  // further arguments
};

// Short run of a tiny model that saves after every step, and an undisturbed control run.
class TrainingCase {
 public:
  explicit TrainingCase(const CaseOptions& options);

  // Folder with the text and the run directory "run".
  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path run() const { return root_ / "run"; }
  // Path for files outside of all runs.
  std::filesystem::path aside(const std::string& name) const { return folder_.path() / name; }

  // Sets the number of processes of later runs. Above 1, mpirun starts them.
  void set_processes(int count) { processes_ = count; }

  // Empties the run directory, or restores the snapshot of set_base().
  void reset() const;
  void set_base(Snapshot run) { base_ = std::move(run); }
  // `output`: folder for the files out and err, for runs at the same time.
  Process start(bool resume, const Environment& environment = {},
                const std::filesystem::path& output = {}) const;
  Ending train(bool resume, const Environment& environment = {}) const;

  // Run directory of the control run, without times.
  const Snapshot& control() const { return control_; }
  double control_seconds() const { return control_seconds_; }
  // Differences between the run directory and the control; "" if equal.
  std::string difference() const;

  // Resumes the run, or restarts it if there is no checkpoint. Returns its problems; "" for none.
  // `saved`: the step that must not be lost, or -1.
  std::string recover(long saved);
  // Step from which the last recover() resumed; -1: it restarted.
  long resumed_from() const { return resumed_from_; }

 private:
  std::vector<std::string> command(bool resume) const;

  CaseOptions options_;
  int processes_ = 1;
  test::TemporaryFolder folder_;
  std::filesystem::path root_;
  Snapshot base_;
  Snapshot control_;
  double control_seconds_ = 0;
  long resumed_from_ = -1;
};

// Step of the last checkpoint that `messages` report as saved, or -1.
long last_saved(const std::string& messages);

// Checks that a failed run prints one error line and has a known exit code. Returns the problem; ""
// for none.
std::string bad_manners(const Ending& ending);

}  // namespace headlight::fault
