#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fault/process.h"
#include "fault/snapshot.h"
#include "support/program.h"

namespace headlight::fault {

constexpr int kKilled = 128 + 9;  // exit code after kill -9

struct CaseOptions {
  long updates = 4;
  std::vector<std::string> more = {};  // further arguments
};

// A short run of a tiny model that saves after every update, and the same run undisturbed.
class TrainingCase {
 public:
  explicit TrainingCase(const CaseOptions& options);

  // The folder that holds the text and the run directory "run".
  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path run() const { return root_ / "run"; }
  // For files that belong to no run.
  std::filesystem::path aside(const std::string& name) const { return folder_.path() / name; }

  // Runs that are started from now on are of so many processes, started by mpirun; 1: without it.
  void set_processes(int count) { processes_ = count; }

  // Empties the run directory, or makes it what set_base() was told.
  void reset() const;
  void set_base(Snapshot run) { base_ = std::move(run); }
  // `output`: a folder for the files out and err, when several run at once.
  Process start(bool resume, const Environment& environment = {},
                const std::filesystem::path& output = {}) const;
  Ending train(bool resume, const Environment& environment = {}) const;

  // The run directory of the undisturbed run, without times.
  const Snapshot& control() const { return control_; }
  double control_seconds() const { return control_seconds_; }
  // Says how the run directory differs from it; empty: not at all.
  std::string difference() const;

  // Resumes, or starts anew when there is nothing to resume from, and says what is wrong about it;
  // empty: nothing. `saved`: the iteration that must not be lost, or -1.
  std::string recover(long saved);
  // Of the last recover(): what it resumed from, or -1 when it started anew.
  long resumed_from() const { return resumed_from_; }

 private:
  std::vector<std::string> command(bool resume) const;

  CaseOptions options_;
  int processes_ = 1;
  ScratchFolder folder_;
  std::filesystem::path root_;
  Snapshot base_;
  Snapshot control_;
  double control_seconds_ = 0;
  long resumed_from_ = -1;
};

// The iteration of the last checkpoint that messages call saved, or -1.
long last_saved(const std::string& messages);

// What a run has to say when it fails: one line of error and a known exit code. Returns what is
// wrong about it; empty: nothing.
std::string bad_manners(const Ending& ending);

}  // namespace headlight::fault
