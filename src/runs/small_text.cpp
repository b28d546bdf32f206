#include "headlight/runs/small_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "headlight/datasets/text_files.h"
#include "headlight/runs/config_source.h"
#include "headlight/runs/starting_model.h"

namespace headlight {
namespace {

constexpr std::uintmax_t kSmallBytes = 10'000'000;

struct Setting {
  std::string_view key;
  const char* value;
  bool is_size = false;  // if all of these are given, no setting of the table applies
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

// Returns true if the files have less than kSmallBytes together. Files of unknown size are large.
bool are_small(const std::vector<TextFile>& files) {
  std::uintmax_t bytes = 0;
  for (const TextFile& file : files) {
    std::error_code error;
    const std::uintmax_t size =
        file.held != nullptr ? file.held->size() : std::filesystem::file_size(file.path, error);
    if (error || size >= kSmallBytes - bytes) {
      return false;
    }
    bytes += size;
  }
  return true;
}

using Given = std::function<bool(std::string_view key)>;

// Fits a number of heads and a width that are not given to the given ones: heads divide the width.
void fit_heads(TrainConfig& config, const Given& is_given, Index default_head_width) {
  const Index groups = std::max<Index>(1, config.gpt.n_kv_head);  // they divide the heads
  const auto is_divided = [&](Index heads) {
    return heads <= 0 || config.gpt.head_width > 0 || config.gpt.n_embd % heads == 0;
  };
  if (!is_given("n_head")) {
    Index heads = std::max(groups, config.gpt.n_head / groups * groups);
    while (heads > groups && is_given("n_embd") && !is_divided(heads)) {
      heads -= groups;
    }
    config.gpt.n_head = heads;
  }
  if (!is_given("n_embd") && !is_divided(config.gpt.n_head)) {
    config.gpt.n_embd = default_head_width * config.gpt.n_head;
  }
}

// Returns " n_layer 4, n_head 4": the values of the table's keys that are not given.
std::string open_values(const TrainConfig& config, const Given& is_given) {
  std::string text;
  for (const Setting& setting : kSmallModel) {
    const auto fields = config_fields();
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const ConfigField& one) { return one.key == setting.key; });
    if (!is_given(setting.key)) {
      text +=
          concat_text(text.empty() ? " " : ", ", setting.key, " ", config_value(config, *field));
    }
  }
  return text;
}

// Keeps GPT-2's sizes, except for heads that do not divide a given width.
std::string fit_large_model(TrainConfig& config, const Given& is_given) {
  constexpr Index kHeadWidth = 64;
  const TrainConfig before = config;
  fit_heads(config, is_given, kHeadWidth);
  return before.gpt.n_head == config.gpt.n_head && before.gpt.n_embd == config.gpt.n_embd
             ? ""
             : concat_text("sizes that fit the given ones: n_head ", config.gpt.n_head, ", n_embd ",
                           config.gpt.n_embd);
}

}  // namespace

std::string fit_sizes_to_text(TrainConfig& config, const std::vector<std::string>& given) {
  const Given is_given = [&](std::string_view key) {
    return std::find(given.begin(), given.end(), key) != given.end();
  };
  const bool is_whole_model = std::all_of(
      kSmallModel.begin(), kSmallModel.end(),
      [&](const Setting& setting) { return !setting.is_size || is_given(setting.key); });
  if (starts_from_model(config) || config.data.empty() || is_whole_model) {
    return "";
  }
  if (!are_small(find_all_files(config.data))) {
    return fit_large_model(config, is_given);
  }
  for (const Setting& setting : kSmallModel) {
    if (!is_given(setting.key)) {
      set_config_value(config, setting.key, setting.value);
    }
  }
  constexpr Index kHeadWidth = 32;
  constexpr Index kWidth = 128;
  fit_heads(config, is_given, kHeadWidth);
  if (!is_given("learning_rate") && config.gpt.n_embd > kWidth) {
    constexpr double kRateDigits = 1e6;  // so that the rate has a short name
    const double rate =
        config.learning_rate * static_cast<double>(kWidth) / static_cast<double>(config.gpt.n_embd);
    config.learning_rate = std::max(1.0, std::round(rate * kRateDigits)) / kRateDigits;
  }
  return "a small text, settings that are not given:" + open_values(config, is_given) +
         " (GPT-2's: --n_layer 12 --n_head 12 --n_embd 768)";
}

Index vocabulary_for(const std::vector<TextFile>& files) {
  constexpr Index kSmall = 1024;
  constexpr Index kLarge = 32768;
  return are_small(files) ? kSmall : kLarge;
}

}  // namespace headlight
