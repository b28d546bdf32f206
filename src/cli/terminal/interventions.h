#pragma once

#include <map>

#include "cli/terminal/options.h"
#include "headlight/heads/attention_maps.h"
#include "headlight/io/model_directory.h"

namespace headlight::cli {

// --intervene, and --scores for classes of heads where the command has none.
void add_intervene_options(Options& options);

// The classes of heads that --scores names; none where it is not given.
std::map<HeadId, HeadScore> scores_option(const Options& options, const LanguageModel& model);

// Attaches what --intervene says to the model. Throws Error when it cannot be done.
void intervene(const Options& options, const LoadedModel& loaded);

}  // namespace headlight::cli
