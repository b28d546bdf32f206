#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/datasets/text_source.h"
#include "headlight/storage/config_file.h"
#include "headlight/train/train_config.h"

// Reads configuration values from text and files, and writes them as TOML.
namespace headlight {

// Returns the key's name in Headlight: with '_' for '-', and aliases resolved.
std::string canonical_key(std::string_view given);

// Result of set_config_value.
enum class ConfigOutcome {
  set,
  ignored,  // one of ignored_config_keys()
};

// Sets one key from text. Accepts '-' for '_' and the names in config_aliases(). A key that takes a
// list gets a list of this one text, or an empty list if the text is empty. Throws Error for an
// unknown key, with the nearest valid key, and for a value of the wrong type.
ConfigOutcome set_config_value(TrainConfig& config, std::string_view key, const std::string& value);

// Sets all texts of a key that takes a list.
void set_config_list(TrainConfig& config, std::string_view key,
                     const std::vector<std::string>& values);

// Sets a key from an entry of a configuration file. Also checks the type of the entry's value.
ConfigOutcome set_config_entry(TrainConfig& config, const ConfigEntry& entry);

// Copies the values of `keys`.
void copy_keys(const TrainConfig& from, const std::vector<std::string>& keys, TrainConfig& to);

// Returns the value of a key as text; a list of several texts as a TOML list.
std::string config_value(const TrainConfig& config, const ConfigField& field);

// Returns the texts of a text or list key; nothing for other keys.
std::vector<std::string> texts_of(const TrainConfig& config, const ConfigField& field);

// Returns the value of a key as TOML, with texts in quotes.
std::string toml_value(const TrainConfig& config, const ConfigField& field);

// Returns the whole configuration as TOML that reads back the same. Derived values are commented
// out, so that they are computed again when the values they depend on change.
std::string to_toml(const TrainConfig& config);

// Returns the settings that differ from the defaults: one line of given and one of derived
// settings. Omits an empty line.
std::vector<std::string> settings_in_short(const TrainConfig& config);

// Result of applying a configuration file.
struct AppliedConfig {
  std::vector<std::string> keys;      // without aliases
  std::vector<std::string> notes;     // one line each: paths found relative to the file
  std::vector<std::string> warnings;  // one line each: keys that have no effect
};

// Overwrites the keys that a TOML file sets. Searches for relative paths of data, validation_data,
// tokenizer and init_from in the current folder, then in the file's folder, then in its parents. A
// path found outside the current folder becomes absolute. out_dir always stays relative to the
// current folder. Throws Error with the file name for invalid content.
AppliedConfig apply_config_file(TrainConfig& config, const std::filesystem::path& path);

// Searches for the relative paths of a configuration in the current folder, then in `folder` and
// its parents. Returns a note for each path found outside the current folder.
std::vector<std::string> locate_paths(TrainConfig& config, const std::filesystem::path& folder);

// Returns the format of the texts that the settings name.
TextFormat text_format_of(const TrainConfig& config);

// Throws Error when batching needs documents and the settings give none. Folders and patterns are
// checked when their files are read.
void require_documents(const TrainConfig& config);

// Reads the settings of a run from its config.toml. Throws Error when there is none.
TrainConfig read_run_config(const std::filesystem::path& run);

}  // namespace headlight
