#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "headlight/base/error.h"
#include "headlight/formats/model_directory.h"
#include "headlight/optim/optimizer.h"
#include "headlight/tokenizers/tokenizer.h"
#include "headlight/train/training_state.h"

// Checkpoints of a run directory. datasets/run_layout.h defines their names.
namespace headlight {

// Thrown when a checkpoint or log cannot be saved: the disk is full or broken, or the directory is
// not writable.
class SaveError : public Error {
 public:
  using Error::Error;
};

// Runs `work` and rethrows an Error as SaveError.
template <class Work>
void saving(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    throw SaveError(error.what());
  }
}

struct Adapter;  // src/formats/adapter/adapter.h

struct CheckpointParts {
  const WrittenModel written;
  const Tokenizer& tokenizer;
  const Optimizer& optimizer;
  const TrainingState& state;
  // The LoRA adapter that the run trains, and its tensors: written instead of the model. Null: the
  // model is written.
  const Adapter* adapter = nullptr;
  NamedTensors updates = {};
};

struct CheckpointOptions {
  bool best = false;  // the best of the run so far: RUN/best will link to it
  // Replace a complete checkpoint of the same step, because an evaluation has changed its state.
  bool replace = false;
};

// Writes RUN/step_XXXXXXXX atomically and returns its path. Creates RUN if it is missing. A
// checkpoint is a model directory with optimizer.safetensors, state.json and a manifest of
// checksums. Reads it back, checks it against the manifest, then links RUN/latest to it. Replaces a
// damaged checkpoint of the same step; keeps a complete one unless `replace` is set. Does not touch
// older checkpoints. Throws Error when writing fails or a weight or moment is not finite.
std::filesystem::path save_checkpoint(const std::filesystem::path& run,
                                      const CheckpointParts& parts,
                                      const CheckpointOptions& options);

// Returns the approximate size of a checkpoint on disk, in bytes.
Index checkpoint_bytes(const LanguageModel& model, const Optimizer& optimizer);

// A directory RUN/step_XXXXXXXX, complete or not.
struct Checkpoint {
  std::filesystem::path path;
  Index iteration = 0;
};

// Returns the checkpoints of `run`, newest first. Throws Error when the directory cannot be listed.
std::vector<Checkpoint> checkpoints_of(const std::filesystem::path& run);

// Returns true when the directory holds checkpoints of a run.
bool holds_run(const std::filesystem::path& directory);

// Returns the newest complete checkpoint of a run. Skips damaged ones and adds a line with name and
// reason to `skipped` for each. Throws Error when there is no complete checkpoint.
std::filesystem::path find_latest_checkpoint(const std::filesystem::path& run,
                                             std::vector<std::string>& skipped);

// Reads only state.json. load_model() reads the weights of a Gpt, load_parameters() those of other
// models.
TrainingState read_training_state(const std::filesystem::path& checkpoint);

// Loads the optimizer's moments and step count. If another optimizer wrote the checkpoint, sets
// moments and step count to zero and returns false. Throws Error when the moments do not fit the
// model, are not finite or, for second moments, are negative.
bool read_optimizer(const std::filesystem::path& checkpoint, Optimizer& optimizer);

// Links RUN/latest to this checkpoint and RUN/best to the checkpoint that its state names, if that
// exists: a killed process may have left both links outdated. Removes a RUN/best that links to a
// later checkpoint, which must be damaged.
void repair_links(const std::filesystem::path& checkpoint, const TrainingState& state);

// Rule for which checkpoints to keep.
struct Retention {
  Index keep = 2;
  // Steps whose checkpoints were damaged when the run resumed from an older one. They do not count
  // as kept; they are removed once training has passed them.
  std::vector<Index> passed_over = {};
};

// Removes the checkpoints up to `iteration`, except the newest `keep` and the target of RUN/best.
// Keeps later ones, which a run resumed from an older checkpoint has yet to replace.
void remove_old_checkpoints(const std::filesystem::path& run, Index iteration,
                            const Retention& retention);

}  // namespace headlight
