#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/files/directory_lock.h"
#include "headlight/nn/gpt.h"
#include "headlight/train/checkpoint.h"

namespace headlight {

// How a run saves.
struct SavePolicy {
  Index keep = 2;              // checkpoints besides the best
  bool stops_on_error = true;  // else failures are warnings, and the next checkpoint tries again
};

// What came of saving: a checkpoint that is complete, or a warning.
struct SaveEvent {
  std::filesystem::path checkpoint = {};  // empty: a warning
  std::string warning = {};
};

// The directory of a run in progress: makes and locks it, clears away what others have left, finds
// checkpoints there and saves new ones. Nobody else writes a checkpoint, a link or config.toml.
//
// Checkpoints are written one at a time, on a thread of their own from a copy of weights and
// moments. What that waits for is the disk; training waits for the copy alone.
class RunDirectory {
 public:
  // Throws LockedError when another process trains there, SaveError when the directory cannot be
  // made or written.
  RunDirectory(std::filesystem::path path, const SavePolicy& policy);
  // Waits for the checkpoint that is being written. Leaves a directory that was never used as it
  // was found, also if that means none.
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Throws Error when a new run would replace files that no run has left there.
  void require_no_foreign_files() const;
  // Removes what runs that were killed have left half written; returns what that was.
  std::vector<std::filesystem::path> sweep() const;
  // Writes config.toml; from now on the directory stays. Throws SaveError.
  void begin(const std::string& settings);
  // For a run that goes on from a checkpoint: does what a process left undone that died before it
  // had set the links or removed old checkpoints. Throws SaveError; returns a warning, or nothing,
  // about those that cannot be removed.
  std::string go_on_from(const std::filesystem::path& checkpoint, const TrainingState& state);

  // Takes the memory for the copy, once; before the first save().
  void prepare(const Gpt& model, const Optimizer& optimizer);
  // Copies the parts, of the model that was prepared for, and begins to write them, when what was
  // begun before is complete. The tokenizer must stay until then. `first` runs on the writing
  // thread before anything is written; its Error is one of saving. Throws SaveError when saving
  // fails and the policy is to stop.
  void save(const CheckpointParts& parts, bool best, std::function<void()> first);
  // What came of saving since the last call, also of the checkpoint in progress when that is
  // complete or `wait` is set. Throws as save() does.
  std::vector<SaveEvent> settle(bool wait);
  // Waits until nothing is being written, whatever comes of it.
  void quiesce() const;
  // What a failure to write anything else means: throws SaveError, or returns when the run is to go
  // on with a warning.
  void judge(const Error& error) const;

  // Update of the newest checkpoint, complete or in progress; -1: none.
  Index last_saved() const { return begun_ >= 0 ? begun_ : complete_; }
  // See find_latest_checkpoint.
  std::filesystem::path newest(std::vector<std::string>& skipped) const;

 private:
  class Copy;

  void start_writing(const CheckpointParts& parts, const CheckpointOptions& options,
                     std::function<void()> first);
  // Why older ones could not be removed; empty: they were.
  std::string write(const CheckpointParts& parts, const CheckpointOptions& options) const;
  void collect();
  void give_up(const Error& error);

  std::filesystem::path path_;
  SavePolicy policy_;
  bool was_made_ = false;
  bool had_lock_ = false;  // a run has been here before
  bool is_used_ = false;
  std::optional<DirectoryLock> lock_;
  Index complete_ = -1;                  // update of the newest complete checkpoint
  Index begun_ = -1;                     // of the one in progress
  Index bytes_ = 0;                      // that it takes
  std::vector<Index> passed_over_ = {};  // see Retention
  std::unique_ptr<Copy> copy_;
  std::vector<SaveEvent> events_ = {};
  std::future<std::string> written_;  // last: its destructor waits for the thread
};

}  // namespace headlight
