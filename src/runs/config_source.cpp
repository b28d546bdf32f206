#include "headlight/runs/config_source.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <type_traits>
#include <utility>

#include "base/json.h"
#include "base/strings/printable.h"
#include "base/strings/read_number.h"
#include "headlight/base/nearest_name.h"
#include "headlight/base/utf8.h"
#include "headlight/datasets/text_files.h"
#include "headlight/formats/run_layout.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

using TextList = std::vector<std::string>;

const ConfigField* find_field(std::string_view key) {
  const auto fields = config_fields();
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const ConfigField& field) { return field.key == key; });
  return found == fields.end() ? nullptr : &*found;
}

[[noreturn]] void fail_unknown(std::string_view key) {
  std::vector<std::string> known;
  for (const ConfigField& field : config_fields()) {
    known.emplace_back(field.key);
  }
  fail("unknown key '", key, "'", did_you_mean(canonical_key(key), known));
}

template <class T>
T parse_number(std::string_view key, const std::string& value, const char* expected) {
  const std::optional<T> number = read_number<T>(value);
  require_value(number.has_value(), key, "expected ", expected, ", got '", value, "'");
  return *number;
}

bool parse_boolean(std::string_view key, const std::string& value) {
  const bool yes = value == "true" || value == "True" || value == "1";
  require_value(yes || value == "false" || value == "False" || value == "0", key,
                "expected true or false, got '", value, "'");
  return yes;
}

// Returns `value`. Throws Error unless it is UTF-8, which JSON and TOML files require.
const std::string& checked_text(std::string_view key, const std::string& value) {
  require_utf8_value(value, key);
  require_value(value.find('\0') == std::string::npos, key, "expected a text without zero bytes");
  return value;
}

struct Assign {
  std::string_view name;
  std::string_view key;  // as the user wrote it
  const std::string& text;

  void operator()(Index& value) const { value = parse_number<Index>(key, text, "a whole number"); }
  void operator()(double& value) const {
    value = parse_number<double>(key, text, "a number");
    require_value(std::isfinite(value), key, "expected a finite number, got '", text, "'");
  }
  void operator()(bool& value) const { value = parse_boolean(key, text); }
  void operator()(std::optional<bool>& value) const { value = parse_boolean(key, text); }
  void operator()(std::string& value) const { value = checked_text(key, text); }
  void operator()(TextList& value) const {
    value = text.empty() ? TextList() : TextList{checked_text(key, text)};
  }
  template <HasChoices E>
  void operator()(E& value) const {
    value = parse_name<E>(name, checked_text(key, text));
  }
  template <class T>
  void operator()(std::vector<T>&) const {
    fail_value(key, "cannot be set");  // no setting has this type
  }
};

// Returns a text as TOML: as JSON, except that TOML has no DEL in texts.
std::string quoted(const std::string& text) {
  std::string result = Json(text).dump();
  for (std::size_t at = result.find('\x7F'); at != std::string::npos; at = result.find('\x7F')) {
    result.replace(at, 1, "\\u007f");
  }
  return result;
}

struct Print {
  const TrainConfig& config;

  std::string operator()(Index TrainConfig::*member) const {
    return std::to_string(config.*member);
  }
  std::string operator()(double TrainConfig::*member) const {
    return shortest_text(config.*member);
  }
  std::string operator()(bool TrainConfig::*member) const {
    return config.*member ? "true" : "false";
  }
  std::string operator()(const GptConfigKey* key) const { return value_text(*key, config.gpt); }
  std::string operator()(std::string TrainConfig::*member) const { return config.*member; }
  // A list of one text is printed as that text.
  std::string operator()(TextList TrainConfig::*member) const {
    const TextList& texts = config.*member;
    if (texts.size() < 2) {
      return texts.empty() ? "" : texts.front();
    }
    std::string list;
    for (const std::string& text : texts) {
      list += (list.empty() ? "[" : ", ") + quoted(text);
    }
    return list + "]";
  }
};

// The types of values in files that suit a key.
struct FileTypes {
  const char* expected;
  ConfigEntry::Type type;
  ConfigEntry::Type other;
};

FileTypes file_types_of(const ConfigField& field) {
  using enum ConfigEntry::Type;
  return visit_value(field, TrainConfig{}, [](const auto& value) -> FileTypes {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::same_as<Value, Index>) {
      return {"a whole number", integer, integer};
    } else if constexpr (std::same_as<Value, double>) {
      return {"a number", number, integer};
    } else if constexpr (std::same_as<Value, TextList>) {
      return {"a text or a list of texts", text, list};
    } else if constexpr (std::same_as<Value, std::string> || HasChoices<Value>) {
      return {"a text in quotes", text, text};
    }
    return {"true or false", boolean, boolean};
  });
}

bool is_word(std::string_view value) {
  constexpr std::array<std::string_view, 8> kWords{"",    "-",   "char",    "byte",
                                                   "bpe", "ids", "scratch", "resume"};
  return std::find(kWords.begin(), kWords.end(), value) != kWords.end();
}

// Returns true when the path exists or its pattern matches a file.
bool leads_somewhere(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error) || path.string().find_first_of("*?[") == std::string::npos) {
    return fs::exists(path, error);
  }
  glob_t found{};
  const bool matches = ::glob(path.c_str(), GLOB_NOSORT, nullptr, &found) == 0;
  ::globfree(&found);
  return matches;
}

// Returns the path unchanged if it is absolute or exists from the current folder. Else returns its
// location in `folder` or the nearest parent folder; unchanged if there is none.
fs::path located(const fs::path& path, const fs::path& folder) {
  if (path.is_absolute() || leads_somewhere(path)) {
    return path;
  }
  for (fs::path from = folder;; from = from.parent_path()) {
    if (leads_somewhere(from / path)) {
      return (from / path).lexically_normal();
    }
    if (from == from.parent_path()) {
      return path;
    }
  }
}

template <class Change>
void for_each_text(TrainConfig& config, const ConfigField& field, const Change& change) {
  visit_value(field, config, [&](auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::same_as<Value, std::string>) {
      change(value);
    } else if constexpr (std::same_as<Value, TextList>) {
      std::ranges::for_each(value, change);
    }
  });
}

}  // namespace

std::string canonical_key(std::string_view given) {
  std::string key(given);
  std::replace(key.begin(), key.end(), '-', '_');
  for (const ConfigAlias& alias : config_aliases()) {
    if (alias.other == key) {
      return std::string(alias.key);
    }
  }
  return key;
}

ConfigOutcome set_config_value(TrainConfig& config, std::string_view key,
                               const std::string& value) {
  const std::string name = canonical_key(key);
  const ConfigField* field = find_field(name);
  if (field == nullptr) {
    const auto ignored = ignored_config_keys();
    if (std::find(ignored.begin(), ignored.end(), name) != ignored.end()) {
      return ConfigOutcome::ignored;
    }
    fail_unknown(key);
  }
  visit_value(*field, config, Assign{name, key, value});
  return ConfigOutcome::set;
}

void set_config_list(TrainConfig& config, std::string_view key, const TextList& values) {
  const ConfigField* field = find_field(canonical_key(key));
  require_value(field != nullptr && is_list(*field), key, "takes one value, got ", values.size());
  for (const std::string& value : values) {
    checked_text(key, value);
  }
  config.*std::get<TextList TrainConfig::*>(field->member) = values;
}

ConfigOutcome set_config_entry(TrainConfig& config, const ConfigEntry& entry) {
  const ConfigField* field = find_field(canonical_key(entry.key));
  if (field == nullptr) {
    return set_config_value(config, entry.key, entry.value);  // ignored or unknown
  }
  const FileTypes types = file_types_of(*field);
  const bool is_list_value = entry.type == ConfigEntry::Type::list;
  require_value(entry.type == types.type || entry.type == types.other, entry.key, "expected ",
                types.expected, ", got ", is_list_value ? "a list" : entry.value);
  if (!is_list_value) {
    return set_config_value(config, entry.key, entry.value);
  }
  set_config_list(config, entry.key, entry.items);
  return ConfigOutcome::set;
}

void copy_keys(const TrainConfig& from, const std::vector<std::string>& keys, TrainConfig& to) {
  for (const ConfigField& field : config_fields()) {
    if (std::find(keys.begin(), keys.end(), field.key) != keys.end()) {
      std::visit(
          [&](auto member) {
            if constexpr (std::is_pointer_v<decltype(member)>) {
              copy_value(*member, from.gpt, to.gpt);
            } else {
              to.*member = from.*member;
            }
          },
          field.member);
    }
  }
}

std::string config_value(const TrainConfig& config, const ConfigField& field) {
  return std::visit(Print{config}, field.member);
}

std::vector<std::string> texts_of(const TrainConfig& config, const ConfigField& field) {
  if (const auto* list = std::get_if<TextList TrainConfig::*>(&field.member)) {
    return config.**list;
  }
  const auto* text = std::get_if<std::string TrainConfig::*>(&field.member);
  return text == nullptr ? TextList() : TextList{config.**text};
}

std::string toml_value(const TrainConfig& config, const ConfigField& field) {
  const std::string value = config_value(config, field);
  const auto* list = std::get_if<TextList TrainConfig::*>(&field.member);
  const bool is_text = file_types_of(field).type == ConfigEntry::Type::text &&
                       (list == nullptr || (config.**list).size() < 2);
  return is_text ? quoted(value) : value;
}

std::string to_toml(const TrainConfig& config) {
  const TrainConfig resolved = config.resolved();
  std::string text;
  for (const ConfigField& field : config_fields()) {
    const std::string line = std::string(field.key) + " = " + toml_value(resolved, field);
    text += is_following(config, field)
                ? "# " + line + "  # not given: " + std::string(derivation(config, field)) + "\n"
                : line + "\n";
  }
  return text;
}

std::vector<std::string> settings_in_short(const TrainConfig& config) {
  const TrainConfig resolved = config.resolved();
  const TrainConfig defaults = TrainConfig{}.resolved();
  std::string given;
  std::string following;
  for (const ConfigField& field : config_fields()) {
    const std::string value = toml_value(resolved, field);
    if (value == toml_value(defaults, field)) {
      continue;
    }
    const bool follows = is_following(config, field);
    std::string& line = follows ? following : given;
    line += (line.empty() ? "" : ", ") + std::string(field.key) + " = " + value +
            (follows ? concat_text(" (", derivation(config, field), ")") : "");
  }
  std::vector<std::string> lines;
  for (const auto& [name, line] : {std::pair{"settings: ", given}, {"not given: ", following}}) {
    if (!line.empty()) {
      lines.push_back(name + line);
    }
  }
  return lines;
}

std::vector<std::string> locate_paths(TrainConfig& config, const fs::path& folder) {
  std::vector<std::string> notes;
  std::error_code error;
  const fs::path from = fs::absolute(folder, error).lexically_normal();
  for (const ConfigField& field : config_fields()) {
    if (!field.is_path) {
      continue;
    }
    for_each_text(config, field, [&](std::string& value) {
      const std::string name = is_list(field) ? split_weight(value).name : value;
      const std::string weight = value.substr(name.size());
      fs::path found = is_word(name) ? fs::path(name) : located(name, from);
      found += weight;
      // Settings must be UTF-8, but folder names need not be.
      if (found.string() != value && valid_utf8_prefix(found.string()) == found.string().size()) {
        notes.push_back(concat_text(field.key, ": ", shown(value),
                                    " is not in the current folder, but here: ", shown(found)));
        value = found.string();
      }
    });
  }
  return notes;
}

AppliedConfig apply_config_file(TrainConfig& config, const fs::path& path) {
  AppliedConfig applied;
  TrainConfig own;  // values of this file only: other paths are not relative to its folder
  const std::vector<ConfigEntry> entries = read_config_file(path);
  in_place(shown(path) + ": ", [&] {
    for (const ConfigEntry& entry : entries) {
      if (set_config_entry(own, entry) == ConfigOutcome::ignored) {
        applied.warnings.push_back(entry.key + " has no effect here and is ignored");
      } else {
        applied.keys.push_back(canonical_key(entry.key));
      }
    }
  });
  std::error_code error;
  applied.notes = locate_paths(own, fs::absolute(path, error).parent_path());
  copy_keys(own, applied.keys, config);
  return applied;
}

TrainConfig read_run_config(const fs::path& run) {
  TrainConfig config;
  apply_config_file(config, run / kRunConfig);
  config.out_dir = run.string();
  return config;
}

TextFormat text_format_of(const TrainConfig& config) {
  return {.split = {.mode = parse_name<DocumentSplit>("documents", config.documents),
                    .separator = config.separator},
          .jsonl = config.jsonl,
          .token_dtype = parse_name<TokenDtype>("token_dtype", config.token_dtype),
          .token_documents = !is_named(config.batching, Batching::packed)};
}

void require_documents(const TrainConfig& config) {
  const bool may_be_documents =
      !is_named(config.documents, DocumentSplit::none) || !config.jsonl.empty() ||
      std::any_of(config.data.begin(), config.data.end(), [](const std::string& name) {
        const std::string path = split_weight(name).name;
        return is_json_lines_name(path) || !is_text_name(path);
      });
  require_value(is_named(config.batching, Batching::packed) || may_be_documents, "batching",
                config.batching, " needs documents; set documents to line, blank_line or token");
}

}  // namespace headlight
