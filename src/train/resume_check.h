#pragma once

#include <string>
#include <vector>

#include "headlight/train/train_config.h"
#include "headlight/train/training_state.h"

namespace headlight {

// Throws Error naming every key with its old and new value when a run cannot go on with this
// configuration. Keys may differ that say where things are, how long to go on, what to report, when
// to save and what to do about trouble; every other one would alter the run.
void require_same_config(const TrainingState& state, const TrainConfig& config);

// Throws Error when the training data has another size than the run's.
void require_same_data(const DataPosition& saved, Index tokens, Index batches_per_epoch);

// A line for each difference between the program that wrote a checkpoint and this one that may
// change the bits of what follows.
std::vector<std::string> build_warnings(const TrainingState& state);

}  // namespace headlight
