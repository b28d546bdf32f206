#pragma once

#include "cli/terminal/options.h"
#include "headlight/generate/generator.h"

namespace headlight::cli {

// Adds --max_new_tokens, --temperature, --top_k, --top_p, --min_p, --repetition_penalty,
// --repetition_window and --seed with these defaults, and other programs' names of them.
void add_sampling_options(Options& options, const GenerateOptions& defaults = {});

// Reads those options. Does not check their ranges; see GenerateOptions::validate().
GenerateOptions sampling_options(const Options& options);

}  // namespace headlight::cli
