#pragma once

#include <string>
#include <vector>

#include "headlight/train/train_config.h"

namespace headlight {

// Replaces nanoGPT's defaults, a GPT-2 for days of training, by sizes that suit a small text: those
// of nanoGPT's example for a CPU. Applies only to a run that starts from random weights on files of
// less than 10 MB together, and only if `given`, the keys that the user has set, holds none of
// n_layer, n_head and n_embd. Other keys of `given` keep their values. Returns one line for the log
// that names the new values, or "" when nothing changed. Throws Error for data that does not exist.
std::string fit_sizes_to_text(TrainConfig& config, const std::vector<std::string>& given);

}  // namespace headlight
