#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/files/config_file.h"
#include "headlight/train/train_config.h"

// Where the values of a configuration come from, text or files, and how they are written down.
namespace headlight {

// True for the name of a key.
bool is_config_key(std::string_view key);

// The name that a key has here: '_' for '-', and no alias.
std::string canonical_key(std::string_view given);

// What set_config_value made of a key.
enum class ConfigOutcome {
  set,
  ignored,  // one of ignored_config_keys()
};

// Sets one key from text. '-' counts as '_', and config_aliases() are understood; a key that takes
// several texts gets this one, or none when it is empty. Throws Error for an unknown key, naming
// the nearest known one, and Error about the key for a value of another type.
ConfigOutcome set_config_value(TrainConfig& config, std::string_view key, const std::string& value);

// The same for all texts of a key that takes several.
void set_config_list(TrainConfig& config, std::string_view key,
                     const std::vector<std::string>& values);

// The same for an entry of a configuration file, whose value has a type of its own.
ConfigOutcome set_config_entry(TrainConfig& config, const ConfigEntry& entry);

// Copies the values of these keys.
void copy_keys(const TrainConfig& from, const std::vector<std::string>& keys, TrainConfig& to);

// The value of a key as text; several texts as a list of TOML.
std::string config_value(const TrainConfig& config, const ConfigField& field);

// The texts of a key that holds one or a list of them; of every other key none.
std::vector<std::string> texts_of(const TrainConfig& config, const ConfigField& field);

// The same as TOML: a text in quotes.
std::string toml_value(const TrainConfig& config, const ConfigField& field);

// The whole configuration as TOML that reads back the same. Values that follow from others stand in
// comments, so that they follow anew when those are changed.
std::string to_toml(const TrainConfig& config);

// The settings that differ from the defaults: a line of those that were given, one of those that
// follow from them; either is left out when it has none.
std::vector<std::string> settings_in_short(const TrainConfig& config);

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
