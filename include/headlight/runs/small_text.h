#pragma once

#include <string>
#include <vector>

#include "headlight/datasets/text_files.h"
#include "headlight/train/train_config.h"

namespace headlight {

// Replaces nanoGPT's defaults, a GPT-2 for days of training, by those of nanoGPT's example for a
// CPU: sizes, steps, learning rate and intervals. Applies only to a run that starts from random
// weights on files of less than 10 MB together, and only if `given`, the keys that the user has
// set, lacks n_layer, n_head or n_embd. Keys of `given` keep their values. An n_head or n_embd that
// is not given fits them, also on larger files, and the learning rate falls with a width above 128.
// Returns one line for the log that names the new values, or "" when nothing changed. Throws Error
// for data that does not exist.
std::string fit_sizes_to_text(TrainConfig& config, const std::vector<std::string>& given);

// Returns the number of tokens of a vocabulary that suits the texts: 1024 for less than 10 MB,
// otherwise, and for standard input that has not been read, 32768.
Index vocabulary_for(const std::vector<TextFile>& files);

}  // namespace headlight
