#include "formats/families/families.h"
#include "fuzz/harness.h"
#include "fuzz/targets.h"
#include "headlight/base/utf8.h"
#include "headlight/nn/architecture.h"
#include "headlight/runs/config_source.h"
#include "headlight/storage/config_file.h"

namespace headlight::fuzz {
namespace {

void set_all(TrainConfig& config, const std::filesystem::path& path) {
  for (const ConfigEntry& entry : read_config_file(path)) {
    set_config_entry(config, entry);
  }
}

// A parsed configuration must read the same after it is written.
void toml_file(std::string_view input) {
  static const MemoryFile file;
  file.write(input);
  TrainConfig config;
  if (!accepted([&] { set_all(config, file.path()); })) {
    return;
  }
  accepted([&] { config.validate(); });
  const std::string written = to_toml(config);
  file.write(written);
  TrainConfig again;
  set_all(again, file.path());
  demand(to_toml(again) == written, "the configuration that was written reads as another");
}

void config_json(std::string_view input) {
  GptConfig config;
  if (accepted([&] { config = parse_model_config(input, "input").config; }) &&
      config.n_layer <= 64) {
    accepted([&] { count_parameters(config); });
    accepted([&] { weights_of(config); });
  }
}

void key_and_value(std::string_view input) {
  const std::string key(take_text(input));
  TrainConfig config;
  accepted([&] { set_config_value(config, key, std::string(input)); });
  accepted([&] { config.validate(); });
  const std::string written = to_toml(config);
  demand(valid_utf8_prefix(written) == written.size(), "the configuration is not UTF-8");
}

}  // namespace

void config(std::string_view input) {
  switch (take_byte(input) % 3) {
    case 0:
      return toml_file(input);
    case 1:
      return config_json(input);
    default:
      return key_and_value(input);
  }
}

}  // namespace headlight::fuzz
