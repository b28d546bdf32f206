#pragma once

#include <string>
#include <vector>

#include "headlight/train/train_config.h"

namespace headlight {

// Fine-tuning: runs that start from the weights of a model, whose directory init_from names.

// Returns true unless the run starts from random weights.
bool starts_from_model(const TrainConfig& config);

// Copies the keys of ConfigRole::architecture from the model that init_from names. `given` are the
// keys that the user has set. Throws Error for a given key that contradicts the model, and for a
// tokenizer of another kind. block_size may be smaller: learned positions are then cut, as by
// nanoGPT's crop_block_size; models with other positions keep their context length. Does nothing
// for a run from random weights.
//
// With rope_scaling (linear, llama3 or yarn) for a model with unscaled rotary positions, the
// context becomes rope_factor times as long.
void adopt_architecture(TrainConfig& config, const std::vector<std::string>& given);

// Replaces defaults for training from random weights by those for fine-tuning: sizes of batches,
// learning rate (larger for LoRA), warm-up and epochs. Conversations get batches of whole
// documents. Keys of `given` keep their values. Returns one line for the log with the new values;
// "" for a run from random weights. Throws Error for data that does not exist.
std::string fit_to_fine_tuning(TrainConfig& config, const std::vector<std::string>& given);

// Sets the dropout of a model configuration to the run's, block_size where positions are learned,
// and an extended context. Returns a line for the log about that context; "" for the same one.
// Throws Error when the two differ in anything else.
std::string fit_to_run(GptConfig& model, const TrainConfig& config);

}  // namespace headlight
