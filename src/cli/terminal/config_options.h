#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/options.h"
#include "headlight/train/train_config.h"

// The keys of a training configuration on the command line.
namespace headlight::cli {

// The place of a run's settings, which files, options and the run so far may have given: what is
// said about one names its key alone.
inline constexpr std::string_view kSettings = "";

// An option for every key, with its value in `defaults` named in the help; the names that other
// trainers use are understood.
void add_config_options(Options& options, const TrainConfig& defaults);

// Options of nanoGPT that mean nothing here are taken with a warning.
void add_ignored_options(Options& options);

// Overwrites the keys that a TOML file sets and returns them; warns about those that are ignored.
std::vector<std::string> set_from_file(TrainConfig& config, const std::string& path);

// The keys whose options were given, without aliases.
std::vector<std::string> keys_of_options(const Options& options);

// Overwrites the keys whose options were given.
void set_from_options(TrainConfig& config, const Options& options);

}  // namespace headlight::cli
