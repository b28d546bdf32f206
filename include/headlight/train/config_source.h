#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "headlight/train/train_config.h"

namespace headlight {

// What a configuration file has set.
struct AppliedConfig {
  std::vector<std::string> keys;      // without aliases
  std::vector<std::string> notes;     // one line each: paths that were found beside the file
  std::vector<std::string> warnings;  // one line each: keys that mean nothing here
};

// Overwrites the keys that a TOML file sets. A relative path of its data, validation_data,
// tokenizer or init_from is looked for in the current folder, then beside the file and in the
// folders above it, the nearest first; found there, it becomes an absolute one. (out_dir is always
// below the current folder.) Throws Error naming the file for what it cannot hold.
AppliedConfig apply_config_file(TrainConfig& config, const std::filesystem::path& path);

// Looks for the relative paths of a configuration in the current folder, then in `folder` and those
// above it. Returns a note for each that was found there.
std::vector<std::string> locate_paths(TrainConfig& config, const std::filesystem::path& folder);

// The settings of a run, from its config.toml. Throws Error when there is none.
TrainConfig read_run_config(const std::filesystem::path& run);

}  // namespace headlight
