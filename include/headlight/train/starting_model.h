#pragma once

#include <string>
#include <vector>

#include "headlight/train/train_config.h"

namespace headlight {

// Runs that start from the weights of a model (init_from names its directory) instead of random
// ones: fine-tuning.

// True unless the run starts from random weights.
bool starts_from_model(const TrainConfig& config);

// Takes the keys of ConfigRole::architecture from the model that a run starts from, init_from.
// `given` are the keys that the user has set: one that contradicts the model is an Error that names
// it, but block_size may be smaller: a model with learned positions then loses its last ones, as by
// nanoGPT's crop_block_size, and others keep their context length. So is a tokenizer of another kind than the model's. Does nothing for a run
// that starts from random weights.
void adopt_architecture(TrainConfig& config, const std::vector<std::string>& given);

// Gives the configuration of a model that is about to be loaded the dropout of the run and, where
// positions are learned, its block_size. Throws Error when the two disagree in anything else.
void fit_to_run(GptConfig& model, const TrainConfig& config);

}  // namespace headlight
