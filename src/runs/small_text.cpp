#include "headlight/runs/small_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "headlight/io/text_files.h"
#include "headlight/runs/config_source.h"
#include "headlight/runs/starting_model.h"

namespace headlight {
namespace {

constexpr std::uintmax_t kSmallBytes = 10'000'000;

struct Setting {
  std::string_view key;
  const char* value;
  bool is_size = false;  // if given, no setting of the table applies
};

// Settings of nanoGPT's example for a laptop, with the learning rate and the intervals of
// configs/shakespeare_char_cpu.toml.
constexpr auto kSmallModel = std::to_array<Setting>({{"n_layer", "4", true},
                                                     {"n_head", "4", true},
                                                     {"n_embd", "128", true},
                                                     {"block_size", "64"},
                                                     {"max_iters", "2000"},
                                                     {"learning_rate", "3e-3"},
                                                     {"eval_interval", "250"},
                                                     {"eval_iters", "20"},
                                                     {"log_interval", "50"}});

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
  const auto is_given = [&](const Setting& setting) {
    return std::find(given.begin(), given.end(), setting.key) != given.end();
  };
  if (starts_from_model(config) || config.data.empty() ||
      std::any_of(kSmallModel.begin(), kSmallModel.end(),
                  [&](const Setting& setting) { return setting.is_size && is_given(setting); }) ||
      !is_small_text(config.data)) {
    return "";
  }
  std::string line = "a small text and no sizes given:";
  for (const Setting& setting : kSmallModel) {
    if (!is_given(setting)) {
      set_config_value(config, setting.key, setting.value);
      line += concat_text(line.back() == ':' ? " " : ", ", setting.key, " ", setting.value);
    }
  }
  return line + " (GPT-2's: --n_layer 12 --n_head 12 --n_embd 768)";
}

}  // namespace headlight
