#include "train/resume_check.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "headlight/tensor/build.h"
#include "headlight/tensor/error.h"
#include "headlight/tensor/machine.h"

namespace headlight {
namespace {

constexpr std::array<std::string_view, 15> kFreeKeys{"out_dir",          "data",
                                                     "validation_data",  "token_dtype",
                                                     "max_iters",        "eval_iters",
                                                     "eval_interval",    "on_nan",
                                                     "keep_checkpoints", "always_save_checkpoint",
                                                     "save_interval",    "on_save_error",
                                                     "log_interval",     "max_bad_updates",
                                                     "track_heads"};

bool is_free(std::string_view key) {
  return std::find(kFreeKeys.begin(), kFreeKeys.end(), key) != kFreeKeys.end();
}

// nanoGPT's way to say --resume: it tells nothing of what the run began with.
bool asks_to_resume(std::string_view key, std::string_view before, std::string_view now) {
  constexpr std::string_view kResume = "\"resume\"";
  return key == "init_from" && (before == kResume || now == kResume);
}

// What to_toml() has written, by key.
std::map<std::string, std::string> values_of(const std::string& toml) {
  std::map<std::string, std::string> values;
  std::istringstream lines(toml);
  constexpr std::string_view kEquals = " = ";
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find(kEquals);
    if (equals != std::string::npos) {
      values[line.substr(0, equals)] = line.substr(equals + kEquals.size());
    }
  }
  return values;
}

}  // namespace

void require_same_config(const TrainingState& state, const TrainConfig& config) {
  const auto defaults = values_of(to_toml({}));
  const auto saved = values_of(state.config);
  std::string changes;
  for (const auto& [key, now] : values_of(to_toml(config))) {
    const auto found = saved.find(key);
    // An older version did not know the key; it did what the default does now.
    const std::string& before = found == saved.end() ? defaults.at(key) : found->second;
    if (before != now && !is_free(key) && !asks_to_resume(key, before, now)) {
      changes += (changes.empty() ? "" : "; ") + key + " was " + before + ", is now " + now;
    }
  }
  require(changes.empty(), "--resume: the run was started with another configuration: ", changes,
          "; start a new run with another --out_dir");
}

void require_same_data(const DataPosition& saved, Index tokens, Index batches_per_epoch) {
  const bool is_known = saved.batches_per_epoch > 0;
  require(!is_known || (saved.tokens == tokens && saved.batches_per_epoch == batches_per_epoch),
          "--resume: data: the run was started with ", saved.tokens, " tokens in ",
          saved.batches_per_epoch, " batches, now ", tokens, " in ", batches_per_epoch,
          "; start a new run with another --out_dir");
}

std::vector<std::string> build_warnings(const TrainingState& state) {
  std::vector<std::string> warnings;
  const auto compare = [&](const char* what, const std::string& before, const std::string& now) {
    if (!before.empty() && before != now) {
      warnings.push_back(std::string("--resume: the checkpoint was written ") + what + " " +
                         before + ", now " + now + ": rounding may differ");
    }
  };
  compare("by headlight", state.build, build_description());
  compare("with the CPU variant", state.cpu_variant, std::string(cpu_variant_name()));
  compare("with products by", state.products, products_description());
  return warnings;
}

}  // namespace headlight
