#include <string>
#include <vector>

#include "formats/families/llama_layers.h"
#include "headlight/base/error.h"

// EXAONE 4 (LG AI Research, arXiv 2507.11407): Llama's layers with norms of the outputs of
// attention and MLP, and of queries and keys. In models with windows, layers without a window do
// not rotate queries and keys.
namespace headlight {
namespace {

constexpr Index kExaoneWindow = 4096;

std::vector<Index> read_exaone4_windows(const ConfigReader& reader, Index layers) {
  const Index window = read_window(reader, kExaoneWindow);
  const bool has_types = reader.find("layer_types") != nullptr;
  reader.find("sliding_window_pattern");  // may be a text, which layer_types repeats
  const Index pattern = has_types ? 1 : reader.size("sliding_window_pattern", 4);
  std::vector<bool> sliding;
  for (Index layer = 0; layer < layers; ++layer) {
    sliding.push_back(window > 0 && (layer + 1) % pattern != 0);
  }
  return layer_windows(reader, sliding, window);
}

GptConfig read_exaone4(const ConfigReader& reader) {
  GptConfig config = read_llama_layers(
      reader,
      {.vocabulary = 102400, .key_heads = 32, .inner = 16384, .epsilon = 1e-5, .null_keys = ""});
  config.norm = NormPosition::output;
  config.qk_norm = true;
  config.windows = read_exaone4_windows(reader, config.n_layer);
  if (!reader.is_null("sliding_window")) {
    for (const Index window : config.windows) {
      config.rope_per_layer.push_back(window > 0 ? 1 : 0);
    }
  }
  return config;
}

// Returns whether exactly the layers with a window rotate queries and keys.
bool rotates_in_windows(const GptConfig& config) {
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    if (config.rotates(layer) != (block_plan(config, layer).attention.window > 0)) {
      return false;
    }
  }
  return true;
}

bool has_plain_positions(const GptConfig& config) {
  return config.windows.empty() && config.rope_per_layer.empty();
}

std::string refusal_of_exaone4(const GptConfig& config) {
  GptConfig plain = config;
  plain.norm = NormPosition::pre;
  plain.rope_per_layer.clear();
  const bool has_norms = config.norm == NormPosition::output && config.qk_norm;
  const bool has_windows = config.windows.empty() || common_window(config) > 0;
  return first_refusal({{!has_windows, kOtherWindows},
                        {!has_only_qkv_bias(config, false), kOtherBiases},
                        {!has_norms, kOtherLayers},
                        {!has_plain_positions(config) && !rotates_in_windows(config),
                         "EXAONE 4 rotates queries and keys in layers with windows only"},
                        {true, refusal_of_llama_layers(plain)}});
}

// Returns a letter for each layer, L with a window and G without, which mlx-lm reads.
std::string window_letters(const GptConfig& config) {
  std::string letters;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    letters += block_plan(config, layer).attention.window > 0 ? 'L' : 'G';
  }
  return letters;
}

Json exaone4_json(const GptConfig& config) {
  Json json = llama_layers_json(config, "exaone4", "Exaone4ForCausalLM");
  const Index window = config.windows.empty() ? kExaoneWindow : common_window(config);
  const bool is_plain = has_plain_positions(config);
  json["sliding_window"] = is_plain ? Json() : Json(window);
  json["sliding_window_pattern"] = is_plain ? Json() : Json(window_letters(config));
  json["layer_types"] = layer_types_json(config);
  return json;
}

}  // namespace

const ModelFamily kExaone4{.type = "exaone4",
                           .layout = llama_layout(output_norm_tensors),
                           .read_config = read_exaone4,
                           .refusal = refusal_of_exaone4,
                           .config_json = exaone4_json};

}  // namespace headlight
