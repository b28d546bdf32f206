#pragma once

#include <functional>
#include <string>

#include "headlight/train/save_error.h"
#include "train/checkpoint_writer.h"

namespace headlight {

// Saves a run while it goes on, and does what on_save_error says about failures.
class RunSaver {
 public:
  struct Options {
    std::filesystem::path run;
    PruneOptions prune;
    bool stops_on_error = true;
    Index last_saved = -1;        // update of the checkpoint that the run goes on from
    std::function<void()> flush;  // what must be on the disk before a checkpoint
    std::function<void(const std::filesystem::path&)> saved;
    std::function<void(const std::string&)> warn;
  };

  explicit RunSaver(Options options) : options_(std::move(options)), writer_(options_.run) {}

  // Takes the memory for saving, before training needs its own.
  void prepare(const Gpt& model, const Optimizer& optimizer) { writer_.prepare(model, optimizer); }
  // Begins to save; a save in progress is waited for. Throws SaveError when that one has failed and
  // the run is to stop then.
  void save(const CheckpointParts& parts, bool best);
  // Tells of a checkpoint that has become complete since. Throws as save() does.
  void look();
  // Waits for the save in progress. Throws as save() does.
  void wait();
  // Throws SaveError, or warns if the run is to continue.
  void on_failure(const Error& error) const;

  // Update of the newest checkpoint, complete or in progress; -1: none.
  Index last_saved() const { return begun_ >= 0 ? begun_ : options_.last_saved; }

 private:
  // Does `work`; a failure is one of the save in progress, which ends with it.
  template <class Work>
  void attempt(const Work& work);
  void tell(const std::optional<WrittenCheckpoint>& written);

  Options options_;
  Index begun_ = -1;  // update of the checkpoint in progress
  Index bytes_ = 0;   // that a checkpoint takes
  CheckpointWriter writer_;
};

}  // namespace headlight
