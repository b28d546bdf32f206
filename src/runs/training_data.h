#pragma once

#include <functional>

#include "headlight/datasets/dataset.h"
#include "headlight/tokenizers/tokenizer.h"
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
// training text. Calls `progress` with the read share of the training text, 0 to 1; from 0 again if
// the text is read a second time.
TrainingData load_training_data(const TrainConfig& config, std::unique_ptr<Tokenizer> tokenizer,
                                const std::function<void(double share)>& progress);

}  // namespace headlight
