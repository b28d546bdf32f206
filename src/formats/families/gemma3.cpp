#include <cmath>

#include "formats/families/llama_layers.h"
#include "formats/huggingface/rope_config.h"
#include "headlight/base/error.h"

// The text models of Gemma 3 (Gemma Team, arXiv 2503.19786): RMS norms with gains of 1 + w around
// attention and MLP, scaled embeddings, and layers with a window and a smaller rotary base.
namespace headlight {
namespace {

constexpr double kGlobalTheta = 1e6;
constexpr double kLocalTheta = 1e4;

std::vector<Index> read_gemma_windows(const ConfigReader& reader, Index layers) {
  const Index window = read_window(reader, 4096);
  require_value(window > 0 || reader.find("layer_types") != nullptr, "sliding_window",
                "expected a number from 1, got null");
  const Index pattern = reader.size("sliding_window_pattern", 6);
  std::vector<bool> sliding;
  for (Index layer = 0; layer < layers; ++layer) {
    sliding.push_back((layer + 1) % pattern != 0);
  }
  return layer_windows(reader, sliding, window);
}

GptConfig read_config(const ConfigReader& reader) {
  GptConfig config;
  config.vocab_size = reader.size("vocab_size", 262208);
  config.block_size = reader.size("max_position_embeddings", Index{1} << 17);
  config.n_embd = reader.size("hidden_size", 2304);
  config.n_layer = reader.size("num_hidden_layers", 26, 1, kMostLayers);
  config.n_head = reader.size("num_attention_heads", 8);
  config.n_kv_head = reader.size("num_key_value_heads", 4);
  config.n_inner = reader.size("intermediate_size", 9216);
  config.head_width = reader.size("head_dim", 256);
  config.bias = false;
  config.qkv_bias = reader.boolean("attention_bias", false);
  config.attention_output_bias = config.qkv_bias;
  config.tie_weights = reader.boolean("tie_word_embeddings", true);
  config.embedding_scale = std::sqrt(static_cast<double>(config.n_embd));
  config.norm_type = NormKind::rms;
  config.norm_gain_plus_one = true;
  config.output_norms = true;
  config.qk_norm = true;
  config.layer_norm_epsilon = reader.number("rms_norm_eps", 1e-6);
  config.gated_mlp = true;
  config.activation = read_activation(reader, "hidden_activation", "gelu_pytorch_tanh");
  config.position = PositionKind::rope;
  read_layer_ropes(reader, kGlobalTheta, reader.number("rope_local_base_freq", kLocalTheta),
                   config);
  config.windows = read_gemma_windows(reader, config.n_layer);
  const double scalar = reader.number("query_pre_attn_scalar", 256);
  require_value(scalar > 0, "query_pre_attn_scalar", "expected a number above 0, got ", scalar);
  config.attention_scale = 1 / std::sqrt(scalar);
  config.attention_dropout = reader.number("attention_dropout", 0);
  reader.require_default("use_bidirectional_attention", false);
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    require_value(reader.find(key) == nullptr, key, "only null is supported");
  }
  return config;
}

std::string refusal(const GptConfig& config) {
  const bool has_norms = config.norm == NormPosition::pre && config.norm_type == NormKind::rms &&
                         config.norm_gain_plus_one && config.output_norms && config.qk_norm;
  if (!has_norms || config.embedding_scale != std::sqrt(static_cast<double>(config.n_embd))) {
    return "these norms cannot be expressed: Gemma's have gains of 1 + w, around attention and MLP";
  }
  const bool has_layers = config.mlp && config.gated_mlp && !config.parallel_residual &&
                          config.heads_per_layer.empty() && config.head_numbers.empty() &&
                          config.residual_dropout == 0 && config.embedding_dropout == 0 &&
                          has_plain_head(config);
  const bool has_positions =
      config.position == PositionKind::rope && config.rope.width == 0 &&
      config.rope.style == RotaryStyle::half && config.rope_per_layer.empty() &&
      (config.windows.empty() || (common_window(config) > 0 && config.rope_local_theta > 0));
  const BlockPlan plan = block_plan(config, 0);
  const bool has_biases = plan.qkv_bias == plan.attention_output_bias && !plan.mlp_bias;
  return has_layers && has_positions && has_biases
             ? refusal_of_rare_parts(config)
             : "these layers cannot be expressed: Gemma 3 has others";
}

Json config_json(const GptConfig& config) {
  const BlockPlan block = block_plan(config, 0);
  const AttentionPlan& plan = block.attention;
  return {{"architectures", {"Gemma3ForCausalLM"}},
          {"model_type", "gemma3_text"},
          {"max_position_embeddings", config.block_size},
          {"hidden_size", config.n_embd},
          {"num_hidden_layers", config.n_layer},
          {"num_attention_heads", config.n_head},
          {"num_key_value_heads", plan.key_heads},
          {"head_dim", plan.head_width},
          {"intermediate_size", *block.mlp_width},
          {"hidden_activation", activation_name(config.activation)},
          {"rms_norm_eps", config.layer_norm_epsilon},
          {"query_pre_attn_scalar", query_scalar_json(plan)},
          {"attention_bias", block.qkv_bias},
          {"attention_dropout", config.attention_dropout},
          {"attn_logit_softcapping", nullptr},
          {"final_logit_softcapping", nullptr},
          {"sliding_window", config.windows.empty() ? 4096 : common_window(config)},
          {"layer_types", layer_types_json(config)},
          {"rope_parameters", layer_ropes_json(config)}};
}

}  // namespace

const ModelFamily kGemma3{.type = "gemma3_text",
                          .layout = llama_layout(output_norm_tensors),
                          .read_config = read_config,
                          .refusal = refusal,
                          .config_json = config_json};

}  // namespace headlight
