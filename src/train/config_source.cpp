#include "headlight/train/config_source.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "base/printable.h"
#include "headlight/base/utf8.h"
#include "headlight/io/run_layout.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

// Values that name no file.
bool is_word(std::string_view value) {
  constexpr std::array<std::string_view, 7> kWords{"",    "-",       "char",  "byte",
                                                   "bpe", "scratch", "resume"};
  return std::find(kWords.begin(), kWords.end(), value) != kWords.end();
}

// True when there is such a file or folder, or a pattern matches one.
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

// The path as it is when it is absolute or leads somewhere from the current folder; else the one
// that does from `folder` or the nearest folder above it; else as it is.
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

// Calls `change` for every text of a key.
template <class Change>
void for_each_text(TrainConfig& config, const ConfigField& field, const Change& change) {
  std::visit(
      [&](auto member) {
        using Value = std::remove_cvref_t<decltype(config.*member)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          change(config.*member);
        } else if constexpr (!std::is_arithmetic_v<Value>) {
          std::for_each((config.*member).begin(), (config.*member).end(), change);
        }
      },
      field.member);
}

}  // namespace

std::vector<std::string> locate_paths(TrainConfig& config, const fs::path& folder) {
  std::vector<std::string> notes;
  std::error_code error;
  const fs::path from = fs::absolute(folder, error).lexically_normal();
  for (const ConfigField& field : config_fields()) {
    if (!field.is_path) {
      continue;
    }
    for_each_text(config, field, [&](std::string& value) {
      const fs::path found = is_word(value) ? fs::path(value) : located(value, from);
      // Settings are UTF-8, which folders need not be.
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
  TrainConfig own;  // of the file alone: paths from elsewhere have nothing to do with its folder
  for (const ConfigEntry& entry : read_config_file(path)) {
    if (set_config_entry(own, entry, shown(path) + ": ") == ConfigOutcome::ignored) {
      applied.warnings.push_back(entry.key + " means nothing here and is ignored");
    } else {
      applied.keys.push_back(canonical_key(entry.key));
    }
  }
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

}  // namespace headlight
