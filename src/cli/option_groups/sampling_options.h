#pragma once

#include "cli/terminal/options.h"
#include "headlight/generate/generator.h"

namespace headlight::cli {

// Adds --max_new_tokens, those of sampling_parameters(), --logit_bias and --seed with these
// defaults, and other programs' names of them.
void add_sampling_options(Options& options, const GenerateOptions& defaults = {});

// Returns `others` with the values of those options. Does not check their ranges; see
// GenerateOptions::validate().
GenerateOptions sampling_options(const Options& options, GenerateOptions others = {});

}  // namespace headlight::cli
