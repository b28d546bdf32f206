#include "formats/families/llama_layers.h"

#include <algorithm>

#include "formats/huggingface/rope_config.h"
#include "headlight/base/error.h"

namespace headlight {

void llama_layers(const ConfigKeys& given, GptConfig& config, const LlamaDefaults& defaults) {
  const ConfigKeys keys = given.or_null(defaults.null_keys);
  keys.size("vocab_size", config.vocab_size, defaults.vocabulary);
  keys.size("max_position_embeddings", config.block_size, defaults.block);
  keys.size("hidden_size", config.n_embd, defaults.width);
  keys.size("num_hidden_layers", config.n_layer, defaults.layers, kMostLayers);
  keys.size("num_attention_heads", config.n_head, defaults.heads);
  keys.size("num_key_value_heads", config.n_kv_head, defaults.key_heads);
  keys.size("head_dim", config.head_width, defaults.head_width);
  keys.size("intermediate_size", config.n_inner, defaults.inner);
  keys.activation("hidden_act", config.activation, defaults.activation);
  keys.number(defaults.epsilon_key, config.layer_norm_epsilon, defaults.epsilon);
  keys.number("attention_dropout", config.attention_dropout, 0);
  own_dropouts(keys, config, config.residual_dropout > 0 || config.embedding_dropout > 0);
  keys.boolean("tie_word_embeddings", config.tie_weights, defaults.tied);
  config.bias = false;
  config.norm_type = NormKind::rms;
  config.gated_mlp = true;
  config.position = PositionKind::rope;
  if (defaults.local_theta) {
    layer_rope_keys(keys, defaults.theta, *defaults.local_theta, config);
    return;
  }
  rope_keys(keys,
            {.default_theta = defaults.theta,
             .default_share = defaults.share,
             .longrope_original = defaults.longrope_original},
            config);
}

void attention_biases(const ConfigKeys& keys, GptConfig& config) {
  keys.biases("attention_bias", {&config.qkv_bias, &config.attention_output_bias}, false);
}

void optional_windows(const ConfigKeys& keys, GptConfig& config, Index fallback,
                      const std::function<bool(Index)>& is_sliding) {
  bool has_windows = common_window(config) > 0;
  keys.boolean("use_sliding_window", has_windows, false);
  const Index stated = window_key(keys, config, fallback);  // present even if windows are off
  layer_types(keys, config, has_windows ? stated : 0, is_sliding);
}

void equal_windows(const ConfigKeys& keys, GptConfig& config) {
  const Index window = window_key(keys, config, 0);
  config.windows.assign(static_cast<std::size_t>(config.n_layer), window);
}

void patterned_windows(const ConfigKeys& keys, GptConfig& config, Index pattern) {
  const Index window = window_key(keys, config, kPatternedWindow, kPatternedWindow);
  require_value(keys.writes() || window > 0 || keys.reader()->find("layer_types") != nullptr,
                "sliding_window", "expected a number from 1, got null");
  layer_types(keys, config, window, [&](Index layer) { return (layer + 1) % pattern != 0; });
}

void require_heads_of_model_width(const GptConfig& config) {
  require_value(config.elements_of_head() * config.n_head == config.n_embd, "head_dim", "expected ",
                config.n_embd / config.n_head, ", got ", config.head_width);
}

std::vector<StoredTensor> llama_tensors(const Weight& weight, const GptConfig& config) {
  return named_tensors(weight, config, "layers.", kLlamaNames);
}

std::vector<StoredTensor> renamed_llama_tensors(const Weight& weight, const GptConfig& config,
                                                std::span<const PartNames> names) {
  const bool is_renamed = std::ranges::count(names, weight.part, &PartNames::part) > 0;
  return is_renamed ? named_tensors(weight, config, "layers.", names)
                    : llama_tensors(weight, config);
}

std::vector<StoredTensor> output_norm_tensors(const Weight& weight, const GptConfig& config) {
  constexpr PartNames kNames[] = {{Part::mlp_norm, "pre_feedforward_layernorm"}};
  return renamed_llama_tensors(weight, config, kNames);
}

WeightLayout llama_layout(TensorsOf tensors_of) {
  return {.prefix = "model.",
          .head = "lm_head.weight",
          .buffers = {"rotary_emb.inv_freq"},
          .layers = "layers.",
          .tensors_of = tensors_of};
}

}  // namespace headlight
