#include "headlight/train/small_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>

#include "headlight/io/text_files.h"
#include "headlight/train/config_source.h"
#include "headlight/train/starting_model.h"

namespace headlight {
namespace {

constexpr std::uintmax_t kSmallBytes = 10'000'000;

// Sizes of nanoGPT's "I only have a macbook" example, with this project's learning rate for it
// (configs/shakespeare_char_cpu.toml).
TrainConfig small_config() {
  TrainConfig config;
  config.n_layer = 4;
  config.n_head = 4;
  config.n_embd = 128;
  config.block_size = 64;
  config.max_iters = 2000;
  config.learning_rate = 3e-3;
  config.eval_interval = 250;
  config.eval_iters = 20;
  config.log_interval = 50;
  return config;
}

constexpr std::array kModelSizes = {"n_layer", "n_head", "n_embd"};
constexpr std::array kSizes = {"n_layer",       "n_head",     "n_embd",
                               "block_size",    "max_iters",  "learning_rate",
                               "eval_interval", "eval_iters", "log_interval"};

// True for regular files of less than kSmallBytes together.
bool is_small_text(const std::vector<std::string>& names) {
  std::uintmax_t bytes = 0;
  for (const WeightedFiles& source : find_weighted_files(names)) {
    for (const TextFile& file : source.files) {
      std::error_code error;
      const std::uintmax_t size = std::filesystem::file_size(file.path, error);
      if (error || size >= kSmallBytes - std::min(bytes, kSmallBytes)) {
        return false;
      }
      bytes += size;
    }
  }
  return true;
}

}  // namespace

std::string fit_sizes_to_text(TrainConfig& config, const std::vector<std::string>& given) {
  const auto is_given = [&](std::string_view key) {
    return std::find(given.begin(), given.end(), key) != given.end();
  };
  if (starts_from_model(config) || config.data.empty() ||
      std::any_of(kModelSizes.begin(), kModelSizes.end(), is_given) ||
      !is_small_text(config.data)) {
    return "";
  }
  std::vector<std::string> keys(kSizes.begin(), kSizes.end());
  std::erase_if(keys, is_given);
  const TrainConfig small = small_config();
  copy_keys(small, keys, config);
  std::string line = "a small text and no sizes given:";
  for (const ConfigField& field : config_fields()) {
    if (std::find(keys.begin(), keys.end(), field.key) != keys.end()) {
      line +=
          concat_text(line.back() == ':' ? " " : ", ", field.key, " ", config_value(small, field));
    }
  }
  return line + " (GPT-2's: --n_layer 12 --n_head 12 --n_embd 768)";
}

}  // namespace headlight
