#include "cli/config_options.h"

#include "cli/log.h"

namespace headlight::cli {

void add_config_options(Options& options, const TrainConfig& defaults) {
  for (const ConfigField& field : config_fields()) {
    options.value(std::string(field.key),
                  std::string(field.help) + " [" + config_value(defaults, field) + "]");
  }
  for (const ConfigAlias& alias : config_aliases()) {
    options.alias(std::string(alias.other), std::string(alias.key));
  }
}

void add_ignored_options(Options& options) {
  for (const std::string_view key : ignored_config_keys()) {
    options.ignored(std::string(key));
  }
}

void set_from_file(TrainConfig& config, const std::string& path) {
  for (const ConfigEntry& entry : read_config_file(path)) {
    if (set_config_entry(config, entry, path + ": ") == ConfigOutcome::ignored) {
      log_warning(entry.key + " means nothing here and is ignored");
    }
  }
}

std::vector<std::string> given_keys(const Options& options) {
  std::vector<std::string> keys;
  for (const std::string& path : options.positionals()) {
    for (const ConfigEntry& entry : read_config_file(path)) {
      keys.push_back(canonical_key(entry.key));
    }
  }
  for (const ConfigField& field : config_fields()) {
    if (options.given(std::string(field.key))) {
      keys.emplace_back(field.key);
    }
  }
  return keys;
}

void set_from_options(TrainConfig& config, const Options& options) {
  for (const ConfigField& field : config_fields()) {
    const std::string key(field.key);
    if (options.given(key)) {
      set_config_value(config, key, options.text(key), "--");
    }
  }
}

}  // namespace headlight::cli
