#include "formats/families/llama_layers.h"
#include "headlight/base/error.h"

// SmolLM 3 (Hugging Face, 2025): Llama's layers, of which every fourth one has no rotary positions.
namespace headlight {
namespace {

// Returns 1 for every layer that rotates queries and keys, else 0.
std::vector<Index> read_rotated_layers(const ConfigReader& reader, Index layers) {
  constexpr const char* kKey = "no_rope_layers";  // 1: with rotations, against the name
  const Json::List given = reader.list(kKey, &Json::is_integer, "whole numbers");
  const bool is_given = reader.find(kKey) != nullptr;
  require_value(!is_given || std::ssize(given) == layers, kKey, "expected ", layers,
                " numbers, got ", given.size());
  const Index interval = reader.size("no_rope_layer_interval", 4);
  std::vector<Index> rotated;
  for (Index layer = 0; layer < layers; ++layer) {
    const bool is_rotated = !is_given ? (layer + 1) % interval != 0
                                      : given[static_cast<std::size_t>(layer)].integer() != 0;
    rotated.push_back(is_rotated ? 1 : 0);
  }
  return rotated;
}

GptConfig read_smollm3(const ConfigReader& reader) {
  GptConfig config = read_llama_layers(reader, {.vocabulary = 128256,
                                                .block = 32768,
                                                .width = 2048,
                                                .layers = 36,
                                                .heads = 16,
                                                .key_heads = 4,
                                                .tied = true,
                                                .theta = 2e6});
  config.qkv_bias = reader.boolean("attention_bias", false);
  config.attention_output_bias = config.qkv_bias;
  config.mlp_bias = reader.boolean("mlp_bias", false);
  config.rope_per_layer = read_rotated_layers(reader, config.n_layer);
  const Index stated = read_window(reader, 0);  // present even if windows are off
  const Index window = reader.boolean("use_sliding_window", false) ? stated : 0;
  std::vector<bool> sliding;
  for (const Index is_rotated : config.rope_per_layer) {
    sliding.push_back(window > 0 && is_rotated == 0);
  }
  config.windows = layer_windows(reader, sliding, window);
  return config;
}

std::string refusal_of_smollm3(const GptConfig& config) {
  GptConfig plain = config;
  plain.rope_per_layer.clear();
  const BlockPlan plan = block_plan(config, 0);
  return first_refusal({{config.qk_norm, kQkNorm},
                        {!config.windows.empty() && common_window(config) == 0, kOtherWindows},
                        {plan.qkv_bias != plan.attention_output_bias, kOtherBiases},
                        {true, refusal_of_llama_layers(plain)}});
}

Json smollm3_json(const GptConfig& config) {
  Json json = llama_layers_json(config, "smollm3", "SmolLM3ForCausalLM");
  json["pad_token_id"] = Json();  // the default may be outside of the vocabulary
  json["attention_bias"] = block_plan(config, 0).qkv_bias;
  json["mlp_bias"] = block_plan(config, 0).mlp_bias;
  Json rotated;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    rotated.push_back(config.rotates(layer) ? 1 : 0);
  }
  json["no_rope_layers"] = rotated;
  add_windows(config, json);
  return json;
}

}  // namespace

const ModelFamily kSmolLm3{.type = "smollm3",
                           .layout = llama_layout(),
                           .read_config = read_smollm3,
                           .refusal = refusal_of_smollm3,
                           .config_json = smollm3_json};

}  // namespace headlight
