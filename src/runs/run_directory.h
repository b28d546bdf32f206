#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/nn/gpt.h"
#include "headlight/runs/checkpoint.h"
#include "headlight/storage/directory_lock.h"

namespace headlight {

// Rules for saving checkpoints.
struct SavePolicy {
  Index keep = 2;              // checkpoints besides the best
  bool stops_on_error = true;  // false: warn about an error and try again at the next checkpoint
  // false: training waits for the disk, and needs no memory for a copy; not with an adapter
  bool in_background = true;
};

// Result of saving: a complete checkpoint or a warning.
struct SaveEvent {
  std::filesystem::path checkpoint = {};  // empty for a warning
  std::string warning = {};
};

// Directory of a run in progress: creates and locks it, removes leftovers, finds and saves
// checkpoints. Only this class writes checkpoints, links and config.toml.
//
// With in_background, a separate thread writes one checkpoint at a time from a copy of weights and
// moments, or of an adapter. Training waits only for the copy, not for the disk.
class RunDirectory {
 public:
  // Throws LockedError when another process trains in the directory, SaveError when it cannot be
  // created or written.
  RunDirectory(std::filesystem::path path, const SavePolicy& policy);
  // Waits for the checkpoint in progress. If begin() was not called, removes the lock file and
  // directory that the constructor created.
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Throws Error when a new run would overwrite files that no run has written.
  void require_no_foreign_files() const;
  // Removes the partial files of killed runs and returns their paths.
  std::vector<std::filesystem::path> sweep() const;
  // Writes config.toml; after this call the destructor keeps the directory. Throws SaveError.
  void begin(const std::string& settings);
  // Prepares to continue from a checkpoint: repairs the links and removes old checkpoints, which a
  // killed process may have left. Throws SaveError. Returns a warning about checkpoints that cannot
  // be removed, or "".
  std::string resume_from(const std::filesystem::path& checkpoint, const TrainingState& state);

  // Allocates the copy once, if there is one. Call before the first save(). With an adapter, which
  // must outlive this object, checkpoints hold the adapter instead of the model.
  void prepare(const Gpt& model, const Optimizer& optimizer, const Adapter* adapter = nullptr);
  // Waits for the previous checkpoint, copies the parts and starts writing them; without
  // in_background, writes them before it returns. The model must be the one given to
  // prepare(); the tokenizer must outlive the writing. The writing thread first calls `first`; its
  // Error counts as a failure to save. Throws SaveError when saving fails and the policy is to
  // stop.
  void save(const CheckpointParts& parts, bool best, std::function<void()> first);
  // Returns the results of saving since the last call. Includes the checkpoint in progress if it is
  // complete; `wait` waits for it. Throws as save() does.
  std::vector<SaveEvent> take_events(bool wait);
  // Waits for the checkpoint in progress and ignores its result.
  void quiesce() const;
  // Throws `error` as SaveError if the policy is to stop. Otherwise returns, and the caller warns.
  void handle_write_error(const Error& error) const;

  // Returns the step of the newest checkpoint, complete or in progress; -1: none.
  Index last_saved() const { return begun_ >= 0 ? begun_ : complete_; }

 private:
  class Copy;

  void start_writing(const CheckpointParts& parts, const CheckpointOptions& options,
                     std::function<void()> first);
  // Returns a warning if older checkpoints could not be removed, else "".
  std::string remove_old(Index iteration, const std::vector<Index>& passed_over) const;
  void collect();
  void give_up(const Error& error);

  std::filesystem::path path_;
  SavePolicy policy_;
  bool was_made_ = false;
  bool had_lock_ = false;  // the directory already had a run's lock file
  bool is_used_ = false;
  std::optional<DirectoryLock> lock_;
  Index complete_ = -1;                  // step of the newest complete checkpoint
  Index begun_ = -1;                     // step of the checkpoint in progress
  Index bytes_ = 0;                      // its size
  std::vector<Index> passed_over_ = {};  // see Retention
  std::unique_ptr<Copy> copy_;
  std::vector<SaveEvent> events_ = {};
  std::future<std::string> written_;  // last: its destructor waits for the thread
};

}  // namespace headlight
