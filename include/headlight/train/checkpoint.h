#pragma once

#include <filesystem>
#include <limits>
#include <string>

#include "headlight/nn/gpt.h"
#include "headlight/optim/optimizer.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

// Where a run stands; small numbers only, because data order and dropout are functions of them.
struct TrainingState {
  Index iteration = 0;  // updates made
  double best_validation_loss = std::numeric_limits<double>::infinity();
  std::string config;  // the run's configuration as TOML
};

// What a checkpoint consists of.
struct CheckpointParts {
  const Gpt& model;
  const Tokenizer& tokenizer;
  const Optimizer& optimizer;
  const TrainingState& state;
};

struct CheckpointOptions {
  bool best = false;  // the best of the run so far: RUN/best leads to it
  Index keep = 2;     // checkpoints kept besides the best
};

// Writes RUN/step_XXXXXXXX, complete or not at all: a model directory with optimizer.safetensors,
// state.json and a manifest of checksums. RUN/latest then leads to it, and old checkpoints are
// removed. Returns its path. Throws Error when a write fails; older checkpoints are then untouched.
std::filesystem::path save_checkpoint(const std::filesystem::path& run,
                                      const CheckpointParts& parts,
                                      const CheckpointOptions& options);

// The newest complete checkpoint of a run. Damaged ones are skipped; `skipped` gets a line for
// each. Throws Error when there is none.
std::filesystem::path find_latest_checkpoint(const std::filesystem::path& run,
                                             std::vector<std::string>& skipped);

TrainingState read_training_state(const std::filesystem::path& checkpoint);

// Fills the optimizer's moments and step count. Throws Error when they do not fit the model.
void read_optimizer(const std::filesystem::path& checkpoint, Optimizer& optimizer);

}  // namespace headlight
