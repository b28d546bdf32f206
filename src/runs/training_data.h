#pragma once

#include "headlight/data/dataset.h"
#include "headlight/text/tokenizer.h"
#include "headlight/train/train_config.h"

namespace headlight {

struct TrainingData {
  std::unique_ptr<Tokenizer> tokenizer;
  TokenDataset train;
  TokenDataset validation;            // without sequences: no validation data
  std::vector<std::string> notes;     // information for the user
  std::vector<std::string> warnings;  // possible problems for the user to check
};

// Throws Error when a resumed run had its data from standard input, which cannot be read again.
void require_lasting_data(const TrainConfig& config);

// Reads the texts of a run. `tokenizer` is the starting model's; if null, creates one from the
// training text.
TrainingData load_training_data(const TrainConfig& config, std::unique_ptr<Tokenizer> tokenizer);

}  // namespace headlight
