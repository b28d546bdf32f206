#include "formats/families/llama_layers.h"

#include <algorithm>
#include <cmath>

#include "formats/huggingface/rope_config.h"
#include "formats/word_list.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

constexpr Choice<Part> kLlamaNames[] = {
    {"embed_tokens", Part::token_embedding},
    {"norm", Part::final_norm},
    {"lm_head", Part::head},
    {"input_layernorm", Part::attention_norm},
    {"self_attn.q_proj self_attn.k_proj self_attn.v_proj", Part::query_key_value},
    {"self_attn.o_proj", Part::attention_output},
    {"self_attn.q_norm", Part::query_norm},
    {"self_attn.k_norm", Part::key_norm},
    {"post_attention_layernorm", Part::mlp_norm},
    {"mlp.gate_proj", Part::mlp_gate},
    {"mlp.up_proj", Part::mlp_in},
    {"mlp.down_proj", Part::mlp_out}};

constexpr Choice<Part> kOutputNormNames[] = {
    {"post_attention_layernorm", Part::attention_output_norm},
    {"pre_feedforward_layernorm", Part::mlp_norm},
    {"post_feedforward_layernorm", Part::mlp_output_norm}};

void read_llama_rope(const ConfigReader& reader, const LlamaDefaults& defaults, GptConfig& config) {
  if (defaults.local_theta) {
    read_layer_ropes(reader, defaults.theta, *defaults.local_theta, config);
    return;
  }
  config.rope = read_rope(reader, block_plan(config, 0).attention.head_width,
                          {.block_size = config.block_size,
                           .default_theta = defaults.theta,
                           .default_share = defaults.share.value_or(1),
                           .longrope_original = defaults.longrope_original});
  require_value(config.rope.width == 0 || defaults.share, reader.read_keys().key_of("rotary_pct"),
                "only 1 is supported");
}

}  // namespace

ConfigReader LlamaDefaults::reader_of(const char* key, const ConfigReader& reader) const {
  return has_word(null_keys, key) ? reader.or_null() : reader;
}

GptConfig read_llama_layers(const ConfigReader& reader, const LlamaDefaults& defaults) {
  GptConfig config;
  const auto size_or_null = [&](const char* key, Index fallback) {
    return defaults.reader_of(key, reader).size(key, reader.is_null(key) ? 0 : fallback);
  };
  config.vocab_size = reader.size("vocab_size", defaults.vocabulary);
  config.block_size = reader.size("max_position_embeddings", defaults.block);
  config.n_embd = reader.size("hidden_size", defaults.width);
  config.n_layer = reader.size("num_hidden_layers", defaults.layers, 1, kMostLayers);
  config.n_head = reader.size("num_attention_heads", defaults.heads);
  config.n_kv_head = size_or_null("num_key_value_heads", defaults.key_heads);
  config.n_inner = reader.size("intermediate_size", defaults.inner);
  config.head_width = size_or_null("head_dim", defaults.head_width);
  config.bias = false;
  config.tie_weights = reader.boolean("tie_word_embeddings", defaults.tied);
  config.attention_dropout =
      defaults.reader_of("attention_dropout", reader).number("attention_dropout", 0);
  config.residual_dropout = reader.number("headlight_residual_dropout", 0);
  config.embedding_dropout = reader.number("headlight_embedding_dropout", 0);
  config.norm_type = NormKind::rms;
  config.layer_norm_epsilon = reader.number(defaults.epsilon_key, defaults.epsilon);
  config.gated_mlp = true;
  config.activation = read_activation(reader, "hidden_act", defaults.activation);
  config.position = PositionKind::rope;
  read_llama_rope(reader, defaults, config);
  return config;
}

std::string refusal_of_llama_layers(const GptConfig& config) {
  const bool has_norms = config.norm == NormPosition::pre && config.norm_type == NormKind::rms &&
                         !config.norm_gain_plus_one && !config.output_norms;
  const bool has_rope = config.position == PositionKind::rope && config.rope.width == 0 &&
                        config.rope.style == RotaryStyle::half && config.rope_local_theta == 0 &&
                        config.rope_per_layer.empty();
  const bool has_mlp = config.mlp && config.gated_mlp && !config.parallel_residual;
  const bool has_heads =
      config.heads_per_layer.empty() && config.head_numbers.empty() && config.attention_scale == 0;
  return first_refusal(
      {{!has_norms,
        "these norms cannot be expressed: Llama has RMS norms before attention and MLP"},
       {!has_rope,
        "these positions cannot be expressed: Llama rotates whole heads, in the same way in all "
        "layers"},
       {!has_mlp, "this MLP cannot be expressed: Llama's have a gate and follow attention"},
       {!has_plain_head(config), kOtherHead},
       {true, refusal_of_rare_parts(config)},
       {config.embedding_scale > 0, "embedding_scale cannot be expressed: Llama has none"},
       {!has_heads,
        "these heads cannot be expressed: Llama has the same number in every layer, and no "
        "attention_scale"}});
}

void require_heads_of_model_width(const GptConfig& config) {
  require_value(config.elements_of_head() * config.n_head == config.n_embd, "head_dim", "expected ",
                config.n_embd / config.n_head, ", got ", config.head_width);
}

bool has_only_qkv_bias(const GptConfig& config, bool qkv) {
  const BlockPlan plan = block_plan(config, 0);
  return plan.qkv_bias == qkv && !plan.attention_output_bias && !plan.mlp_bias;
}

Json llama_layers_json(const GptConfig& config, const char* type, const char* architecture,
                       const char* epsilon_key) {
  const AttentionPlan plan = block_plan(config, 0).attention;
  Json json{{"architectures", Json::array({architecture})},
            {"model_type", type},
            {"max_position_embeddings", config.block_size},
            {"hidden_size", config.n_embd},
            {"num_hidden_layers", config.n_layer},
            {"num_attention_heads", config.n_head},
            {"num_key_value_heads", plan.key_heads},
            {"head_dim", plan.head_width},
            {"intermediate_size", *block_plan(config, 0).mlp_width},
            {"hidden_act", name_of(config.activation)},
            {epsilon_key, config.layer_norm_epsilon},
            {"attention_dropout", config.attention_dropout}};
  json.update(rope_json(config));
  if (config.residual_dropout > 0 || config.embedding_dropout > 0) {
    json["headlight_residual_dropout"] = config.residual_dropout;
    json["headlight_embedding_dropout"] = config.embedding_dropout;
  }
  return json;
}

double read_cap(const ConfigReader& reader, const char* key, double fallback) {
  const double cap = reader.is_null(key) ? 0 : reader.number(key, fallback);
  require_value(cap > 0 || reader.is_null(key), key, "expected null or a number above 0, got ",
                cap);
  return cap;
}

Json cap_json(double cap) { return cap > 0 ? Json(cap) : Json(); }

Json query_scalar_json(const AttentionPlan& plan) {
  const double scale =
      plan.scale > 0 ? plan.scale : 1 / std::sqrt(static_cast<double>(plan.head_width));
  const double scalar = 1 / (scale * scale);
  const double whole = std::round(scalar);
  return std::abs(scalar - whole) < 1e-9 * scalar ? Json(static_cast<Index>(whole)) : Json(scalar);
}

std::string activation_name(Activation activation) {
  return activation == Activation::gelu_tanh ? "gelu_pytorch_tanh"
                                             : std::string(name_of(activation));
}

bool has_equal_windows(const GptConfig& config) {
  return config.windows.empty() ||
         (common_window(config) > 0 && std::ranges::count(config.windows, 0) == 0);
}

std::vector<Index> read_equal_windows(const ConfigReader& reader, Index layers) {
  return std::vector<Index>(static_cast<std::size_t>(layers), read_window(reader, 0));
}

void add_windows(const GptConfig& config, Json& json) {
  json["use_sliding_window"] = !config.windows.empty();
  json["sliding_window"] = config.windows.empty() ? Json() : Json(common_window(config));
  json["layer_types"] = layer_types_json(config);
}

void add_rotary_share(const GptConfig& config, Json& json) {
  const double share = rotary_share(config.rope, config.elements_of_head());
  json["partial_rotary_factor"] = share;
  json["rope_parameters"]["partial_rotary_factor"] = share;
}

std::vector<StoredTensor> llama_tensors(const Weight& weight, const GptConfig& config) {
  return named_tensors(weight, config, "layers.", kLlamaNames);
}

std::vector<StoredTensor> output_norm_tensors(const Weight& weight, const GptConfig& config) {
  return renamed_llama_tensors(weight, config, kOutputNormNames);
}

std::vector<StoredTensor> renamed_llama_tensors(const Weight& weight, const GptConfig& config,
                                                std::span<const Choice<Part>> names) {
  const bool is_renamed = std::ranges::count(names, weight.part, &Choice<Part>::value) > 0;
  return is_renamed ? named_tensors(weight, config, "layers.", names)
                    : llama_tensors(weight, config);
}

WeightLayout llama_layout(std::vector<StoredTensor> (*tensors_of)(const Weight&,
                                                                  const GptConfig&)) {
  return {.prefix = "model.",
          .head = "lm_head.weight",
          .buffers = {"rotary_emb.inv_freq"},
          .layers = "layers.",
          .tensors_of = tensors_of};
}

}  // namespace headlight
