#pragma once

#include <string>

#include "cli/options.h"
#include "headlight/train/train_config.h"

// The keys of a training configuration on the command line.
namespace headlight::cli {

// An option for every key, with its value in `defaults` named in the help; the names that other
// trainers use are understood.
void add_config_options(Options& options, const TrainConfig& defaults);

// Options of nanoGPT that mean nothing here are taken with a warning.
void add_ignored_options(Options& options);

// Overwrites the keys that a TOML file sets; warns about those that are ignored.
void set_from_file(TrainConfig& config, const std::string& path);

// The keys that the files of the command line or its options set, without aliases.
std::vector<std::string> given_keys(const Options& options);

// Overwrites the keys whose options were given.
void set_from_options(TrainConfig& config, const Options& options);

}  // namespace headlight::cli
