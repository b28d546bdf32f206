#include "formats/gguf/gguf_layers.h"

#include "formats/gguf/gguf_rope.h"
#include "headlight/base/error.h"

namespace headlight {

std::vector<StoredTensor> gguf_split(const Weight& weight, const GptConfig& config) {
  return named_tensors(weight, config, "blk.", kLlamaNames, &PartNames::gguf);
}

std::vector<StoredTensor> gguf_fused(const Weight& weight, const GptConfig& config) {
  constexpr PartNames kNames[] = {{Part::query_key_value, "", "attn_qkv"}};
  return weight.part == Part::query_key_value
             ? named_tensors(weight, config, "blk.", kNames, &PartNames::gguf)
             : gguf_split(weight, config);
}

std::vector<StoredTensor> gguf_interleaved(const Weight& weight, const GptConfig& config) {
  std::vector<StoredTensor> tensors = gguf_split(weight, config);
  if (weight.part == Part::query_key_value) {
    const AttentionPlan plan = block_plan(config, weight.layer).attention;
    tensors[0].order = {.outer = plan.heads, .first = plan.head_width / 2, .second = 2};
    tensors[1].order = {.outer = plan.key_heads, .first = plan.head_width / 2, .second = 2};
  }
  return tensors;
}

WeightLayout gguf_layout(std::vector<StoredTensor> (*tensors_of)(const Weight&, const GptConfig&)) {
  return {.head = kGgufHead, .tensors_of = tensors_of};
}

void gguf_rms_layers(GgufKeys& keys, GptConfig& config) {
  keys.write_size("attention.key_length", config.head_width);
  keys.write_size("attention.value_length", config.head_width);
  keys.number("attention.layer_norm_rms_epsilon", config.layer_norm_epsilon);
  config.position = PositionKind::rope;
  gguf_rope(keys, config);
  keys.bias("attn_q", config.qkv_bias);
  keys.bias("attn_output", config.attention_output_bias);
  keys.bias("ffn_up", config.mlp_bias);
  config.bias = false;
  config.norm_type = NormKind::rms;
  config.gated_mlp = true;
  config.activation = Activation::silu;
}

void gguf_plain_layers(GgufKeys& keys, GptConfig& config) {
  gguf_rms_layers(keys, config);
  require_whole_heads(keys, config);
  require_idle_window(keys, config);
}

void gguf_layer_norms(GgufKeys& keys, GptConfig& config) {
  config.norm_type = NormKind::layer;
  keys.number("attention.layer_norm_epsilon", config.layer_norm_epsilon);
}

std::vector<Index> except_each(Index pattern, Index layers, Index value) {
  std::vector<Index> values;
  for (Index layer = 0; layer < layers; ++layer) {
    values.push_back(pattern > 0 && (layer + 1) % pattern == 0 ? 0 : value);
  }
  return values;
}

Index gguf_window(GgufKeys& keys, const GptConfig& config, Index fallback) {
  constexpr std::string_view kKey = "attention.sliding_window";
  const Index window = common_window(config);
  if (keys.writes() && window > 0) {
    keys.write_size(kKey, window);
  }
  return keys.writes() ? window : keys.read_integer(kKey, fallback);
}

void gguf_windows(GgufKeys& keys, GptConfig& config, const GgufWindows& usual) {
  const Index window = gguf_window(keys, config, usual.window);
  const Index pattern = keys.read_integer("attention.sliding_window_pattern", usual.pattern);
  config.windows = except_each(pattern, config.n_layer, window);
}

void without_attention_biases(GgufKeys& keys, GptConfig& config) {
  keys.only(config.qkv_bias, std::optional(false));
  keys.only(config.attention_output_bias, std::optional(false));
}

void require_whole_heads(GgufKeys& keys, const GptConfig& config) {
  require_value(keys.writes() || config.rope.width == 0, keys.whole("rope.dimension_count"),
                "expected ", config.head_width, ", the width of a head, got ", config.rope.width);
}

void require_own_key_heads(GgufKeys& keys, const GptConfig& config) {
  require_value(keys.writes() || config.n_kv_head == config.n_head,
                keys.whole("attention.head_count_kv"), "expected ", config.n_head,
                ", the number of heads, got ", config.n_kv_head);
}

void require_idle_window(GgufKeys& keys, const GptConfig& config) {
  const Index window = keys.read_integer("attention.sliding_window", 0);
  require_value(window == 0 || window >= config.block_size, keys.whole("attention.sliding_window"),
                "expected 0 or at least the context of ", config.block_size, ", got ", window);
}

}  // namespace headlight
