#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/options.h"
#include "headlight/train/train_config.h"

// Command-line options for the keys of a training configuration.
namespace headlight::cli {

// Empty error prefix for settings that may come from a file, an option or the run so far. Messages
// name only the key.
inline constexpr std::string_view kSettings = "";

// Adds an option for every key, with its default in the help, and aliases from other trainers. The
// short help shows the basic ones, or only the architecture's.
void add_config_options(Options& options, const TrainConfig& defaults,
                        bool only_architecture_is_basic = false);

// Adds nanoGPT options that have no effect here and only cause a warning.
void add_ignored_options(Options& options);

// Applies the keys of a TOML file and returns them. Warns about ignored keys.
std::vector<std::string> set_from_file(TrainConfig& config, const std::string& path);

// Keys whose options were given, without aliases.
std::vector<std::string> keys_of_options(const Options& options);

// Applies the keys whose options were given.
void set_from_options(TrainConfig& config, const Options& options);

}  // namespace headlight::cli
