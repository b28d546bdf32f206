#pragma once

#include "cli/terminal/options.h"
#include "headlight/datasets/dataset.h"
#include "headlight/formats/model_directory.h"
#include "headlight/interpret/activations/activation_cache.h"

// Pages of texts whose tokens are coloured by neurons, for `headlight cache`.
namespace headlight::cli {

// Adds --html and --top.
void add_coloured_text_options(Options& options);
// Throws Error for options that do not fit --html or its absence.
void check_coloured_texts(const Options& options);

// Colours every text once for each of --names, writes the page, and prints its name.
void colour_texts(const Options& options, const LoadedModel& loaded,
                  const ActivationContexts& texts);
// Finds the --top texts on which the one neuron or element of --names is most active, writes the
// page, and prints them.
void colour_examples(const Options& options, const LoadedModel& loaded, const TokenDataset& data);

}  // namespace headlight::cli
