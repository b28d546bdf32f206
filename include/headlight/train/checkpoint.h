#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "headlight/base/error.h"
#include "headlight/nn/language_model.h"
#include "headlight/optim/optimizer.h"
#include "headlight/text/tokenizer.h"
#include "headlight/train/training_state.h"

// The checkpoints of a run directory; how they are called: io/run_layout.h.
namespace headlight {

// What a run has learned cannot be saved: a full or broken disk, a directory that may not be
// written.
class SaveError : public Error {
 public:
  using Error::Error;
};

// Does `work`; what it throws as Error becomes SaveError.
template <class Work>
void saving(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    throw SaveError(error.what());
  }
}

// What a checkpoint consists of.
struct CheckpointParts {
  const LanguageModel& model;
  const Tokenizer& tokenizer;
  const Optimizer& optimizer;
  const TrainingState& state;
};

struct CheckpointOptions {
  bool best = false;  // the best of the run so far: RUN/best leads to it
  // The state of this update has changed since it was saved, by an evaluation.
  bool replace = false;
};

// Writes RUN/step_XXXXXXXX, complete or not at all, and RUN where it is missing: a model directory
// with optimizer.safetensors, state.json and a manifest of checksums. It is read again and compared
// with the manifest; then RUN/latest leads to it. A damaged checkpoint of that name is replaced, a
// complete one kept unless `replace` is set. Returns its path. Throws Error when a step fails and
// when a weight or moment is not finite. Older checkpoints stay as they are.
std::filesystem::path save_checkpoint(const std::filesystem::path& run,
                                      const CheckpointParts& parts,
                                      const CheckpointOptions& options);

// Bytes that a checkpoint takes on the disk, about.
Index checkpoint_bytes(const LanguageModel& model, const Optimizer& optimizer);

// One RUN/step_XXXXXXXX, complete or not.
struct Checkpoint {
  std::filesystem::path path;
  Index iteration = 0;
};

// Newest first. Throws Error when the directory cannot be listed.
std::vector<Checkpoint> checkpoints_of(const std::filesystem::path& run);

// True when the directory holds checkpoints of a run.
bool holds_run(const std::filesystem::path& directory);

// The newest complete checkpoint of a run. Damaged ones are skipped; `skipped` gets a line for
// each that names it and says why. Throws Error when there is none.
std::filesystem::path find_latest_checkpoint(const std::filesystem::path& run,
                                             std::vector<std::string>& skipped);

// The weights of a checkpoint are read by load_model(), those of a model other than Gpt by
// load_parameters().
TrainingState read_training_state(const std::filesystem::path& checkpoint);

// Fills the optimizer's moments and step count. False for the checkpoint of another optimizer,
// which has no such moments: they and the count are then zero. Throws Error when they do not fit
// the model, are not finite or, as second moments, are negative.
bool read_optimizer(const std::filesystem::path& checkpoint, Optimizer& optimizer);

// Makes RUN/latest lead to this checkpoint of the run, and RUN/best to the one that its state names
// if it is there: a process that was killed may have left them behind. A RUN/best that leads to a
// later one, which must be damaged, is removed.
void repair_links(const std::filesystem::path& checkpoint, const TrainingState& state);

// Which checkpoints stay.
struct Retention {
  Index keep = 2;
  // Updates whose checkpoints were found damaged when the run was resumed from an older one. They
  // do not count as kept, and go when the run is past them.
  std::vector<Index> passed_over = {};
};

// Removes all but the newest `keep` of the checkpoints up to `iteration` and the one that RUN/best
// leads to. Those after it, which a run that went on from an older one has yet to replace, stay.
void remove_old_checkpoints(const std::filesystem::path& run, Index iteration,
                            const Retention& retention);

}  // namespace headlight
