#pragma once

#include "headlight/nn/gpt.h"
#include "runs/run_start.h"

namespace headlight {

// Trains the rows of special tokens that the run's data has and that the model has not learned,
// beside an adapter: the others stay frozen. A run that trains parts of the weights gets a warning
// instead if it freezes such rows.
void train_new_tokens(RunStart& start, Gpt& model);

}  // namespace headlight
