#include <algorithm>

#include "formats/families/llama_layers.h"

// Llama (Touvron et al., arXiv 2302.13971) and families that differ in a few keys: Mistral
// (windows), Qwen 2 (biases of queries, keys and values) and Qwen 3 (norms of queries and keys).
namespace headlight {
namespace {

constexpr Index kDefaultWindow = 4096;

GptConfig read_llama(const ConfigReader& reader) {
  GptConfig config =
      read_llama_layers(reader, {.null_keys = "num_key_value_heads head_dim attention_dropout"});
  config.qkv_bias = reader.boolean("attention_bias", false);
  config.attention_output_bias = config.qkv_bias;
  config.mlp_bias = reader.boolean("mlp_bias", false);
  return config;
}

GptConfig read_mistral(const ConfigReader& reader) {
  GptConfig config = read_llama_layers(
      reader, {.block = Index{1} << 17, .key_heads = 8, .inner = 14336, .null_keys = "head_dim"});
  const Index window = read_window(reader, kDefaultWindow);
  const std::vector<bool> sliding(static_cast<std::size_t>(config.n_layer), window > 0);
  config.windows = layer_windows(reader, sliding, window);
  return config;
}

std::vector<Index> read_qwen_windows(const ConfigReader& reader, Index layers) {
  const bool has_windows = reader.boolean("use_sliding_window", false);
  const Index stated = read_window(reader, kDefaultWindow);  // present even if windows are off
  const Index window = has_windows ? stated : 0;
  const Index whole_layers = reader.size("max_window_layers", 28, 0);
  std::vector<bool> sliding;
  for (Index layer = 0; layer < layers; ++layer) {
    sliding.push_back(window > 0 && layer >= whole_layers);
  }
  return layer_windows(reader, sliding, window);
}

GptConfig read_qwen2(const ConfigReader& reader) {
  GptConfig config = read_llama_layers(
      reader, {.vocabulary = 151936, .block = 32768, .key_heads = 32, .inner = 22016});
  config.qkv_bias = true;
  config.windows = read_qwen_windows(reader, config.n_layer);
  return config;
}

GptConfig read_qwen3(const ConfigReader& reader) {
  GptConfig config = read_llama_layers(
      reader,
      {.vocabulary = 151936, .block = 32768, .key_heads = 32, .head_width = 128, .inner = 22016});
  config.qkv_bias = reader.boolean("attention_bias", false);
  config.attention_output_bias = config.qkv_bias;
  config.qk_norm = true;
  config.windows = read_qwen_windows(reader, config.n_layer);
  return config;
}

std::string refusal_of_llama(const GptConfig& config) {
  const BlockPlan plan = block_plan(config, 0);
  return first_refusal(
      {{config.qk_norm, kQkNorm},
       {!config.windows.empty(), kOtherWindows},
       {plan.qkv_bias != plan.attention_output_bias, kOtherBiases},
       {config.n_embd % config.n_head != 0, "transformers needs an n_head that divides n_embd"},
       {true, refusal_of_llama_layers(config)}});
}

std::string refusal_of_mistral(const GptConfig& config) {
  const bool has_window = common_window(config) > 0 && std::ranges::count(config.windows, 0) == 0;
  return first_refusal({{config.qk_norm, kQkNorm},
                        {!has_window, kOtherWindows},
                        {!has_only_qkv_bias(config, false), kOtherBiases},
                        {true, refusal_of_llama_layers(config)}});
}

bool has_qwen_windows(const GptConfig& config) {
  return config.windows.empty() || common_window(config) > 0;
}

std::string refusal_of_qwen2(const GptConfig& config) {
  return first_refusal({{config.qk_norm, kQkNorm},
                        {!has_qwen_windows(config), kOtherWindows},
                        {!has_only_qkv_bias(config, true), kOtherBiases},
                        {true, refusal_of_llama_layers(config)}});
}

std::string refusal_of_qwen3(const GptConfig& config) {
  const BlockPlan plan = block_plan(config, 0);
  return first_refusal(
      {{!config.qk_norm, "queries and keys without norms cannot be expressed"},
       {!has_qwen_windows(config), kOtherWindows},
       {plan.qkv_bias != plan.attention_output_bias || plan.mlp_bias, kOtherBiases},
       {true, refusal_of_llama_layers(config)}});
}

Json llama_json(const GptConfig& config) {
  Json json = llama_layers_json(config, "llama", "LlamaForCausalLM");
  json["attention_bias"] = block_plan(config, 0).qkv_bias;
  json["mlp_bias"] = block_plan(config, 0).mlp_bias;
  return json;
}

Json mistral_json(const GptConfig& config) {
  Json json = llama_layers_json(config, "mistral", "MistralForCausalLM");
  json["sliding_window"] = common_window(config);
  return json;
}

Json qwen2_json(const GptConfig& config) {
  Json json = llama_layers_json(config, "qwen2", "Qwen2ForCausalLM");
  add_windows(config, json);
  return json;
}

Json qwen3_json(const GptConfig& config) {
  Json json = llama_layers_json(config, "qwen3", "Qwen3ForCausalLM");
  json["attention_bias"] = block_plan(config, 0).qkv_bias;
  add_windows(config, json);
  return json;
}

}  // namespace

const ModelFamily kLlama{.type = "llama",
                         .layout = llama_layout(),
                         .read_config = read_llama,
                         .refusal = refusal_of_llama,
                         .config_json = llama_json};

const ModelFamily kMistral{.type = "mistral",
                           .layout = llama_layout(),
                           .read_config = read_mistral,
                           .refusal = refusal_of_mistral,
                           .config_json = mistral_json};

const ModelFamily kQwen2{.type = "qwen2",
                         .layout = llama_layout(),
                         .read_config = read_qwen2,
                         .refusal = refusal_of_qwen2,
                         .config_json = qwen2_json};

const ModelFamily kQwen3{.type = "qwen3",
                         .layout = llama_layout(),
                         .read_config = read_qwen3,
                         .refusal = refusal_of_qwen3,
                         .config_json = qwen3_json};

}  // namespace headlight
