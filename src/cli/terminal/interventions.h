#pragma once

#include "cli/terminal/options.h"
#include "headlight/io/model_directory.h"

namespace headlight::cli {

// --intervene, and --scores for classes of heads where the command has none.
void add_intervene_options(Options& options);

// Attaches what --intervene says to the model. Throws Error when it cannot be done.
void intervene(const Options& options, const LoadedModel& loaded);

}  // namespace headlight::cli
