#pragma once

#include <map>

#include "cli/terminal/options.h"
#include "headlight/formats/model_directory.h"
#include "headlight/interpret/attention_maps.h"

namespace headlight::cli {

// Adds --sae.
void add_sae_option(Options& options);

// Attaches the autoencoders of --sae to the models that they fit. Throws Error for a folder without
// one that fits a model.
void attach_features(const Options& options, const std::vector<Gpt*>& models);

// Adds --intervene, --sae, and --scores unless the command has it.
void add_intervene_options(Options& options);

// Head scores in the file of --scores; empty without the option.
std::map<HeadId, HeadScore> scores_option(const Options& options, const LanguageModel& model);

// Attaches the autoencoders of --sae and the changes of --intervene to the model. Throws Error for
// invalid changes, for folders whose autoencoder does not fit the model, and for --scores without
// --intervene unless `uses_scores`: the command has another use for them.
void intervene(const Options& options, const LoadedModel& loaded, bool uses_scores = false);

}  // namespace headlight::cli
