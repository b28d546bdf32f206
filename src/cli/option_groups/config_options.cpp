#include "cli/option_groups/config_options.h"

#include "cli/terminal/log.h"
#include "headlight/runs/config_source.h"

namespace headlight::cli {

namespace {

void add_option(Options& options, const ConfigField& field, const std::string& help) {
  const std::string key(field.key);
  if (is_list(field)) {
    options.values(key, help);
  } else if (is_boolean(field)) {
    options.boolean(key, help);
  } else {
    options.value(key, help).choices(field.choices);
  }
  if (field.is_path || key == "out_dir") {
    options.paths({field.key});
  }
}

}  // namespace

void add_config_options(Options& options, const TrainConfig& defaults,
                        bool only_architecture_is_basic) {
  for (const ConfigField& field : config_fields()) {
    const std::string fallback =
        is_following(defaults, field) ? std::string(field.follows) : config_value(defaults, field);
    const std::string range = range_text(field);
    if (!field.group.empty()) {
      options.group(field.group);
    }
    const std::string value = fallback + (range.empty() ? "" : "; " + range);
    add_option(options, field, std::string(field.help) + (value.empty() ? "" : " [" + value + "]"));
    if (field.is_basic && (!only_architecture_is_basic || field.role == ConfigRole::architecture)) {
      options.basic({field.key});
    }
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

std::vector<std::string> set_from_file(TrainConfig& config, const std::string& path) {
  const AppliedConfig applied = apply_config_file(config, path);
  log_warnings(applied.warnings);
  for (const std::string& note : applied.notes) {
    log_info(note);
  }
  return applied.keys;
}

std::vector<std::string> keys_of_options(const Options& options) {
  std::vector<std::string> keys;
  for (const ConfigField& field : config_fields()) {
    if (options.given(std::string(field.key))) {
      keys.emplace_back(field.key);
    }
  }
  return keys;
}

void set_from_options(TrainConfig& config, const Options& options) {
  in_place("--", [&] {
    for (const ConfigField& field : config_fields()) {
      const std::string key(field.key);
      if (options.given(key) && is_list(field)) {
        set_config_list(config, key, options.texts(key));
      } else if (options.given(key)) {
        set_config_value(config, key, options.text(key));
      }
    }
  });
}

}  // namespace headlight::cli
