#pragma once

#include "headlight/data/dataset.h"
#include "headlight/text/tokenizer.h"
#include "headlight/train/train_config.h"

namespace headlight {

struct TrainingData {
  std::unique_ptr<Tokenizer> tokenizer;
  TokenDataset train;
  TokenDataset validation;            // no sequences: there is none
  std::vector<std::string> notes;     // what the user should know
  std::vector<std::string> warnings;  // what the user should look into
};

// Throws Error when a run that goes on cannot have the data that it began with, because that came
// through standard input.
void require_lasting_data(const TrainConfig& config);

// Reads the texts of a run. `tokenizer` is that of a model that exists already; without one, a new
// one is made from the training text.
TrainingData load_training_data(const TrainConfig& config, std::unique_ptr<Tokenizer> tokenizer);

}  // namespace headlight
