#include <algorithm>
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
constexpr const char* kLocalThetaKey = "rope_local_base_freq";

std::vector<Index> read_gemma_windows(const ConfigReader& reader, Index layers) {
  const Index window = read_window(reader, 4096);
  const bool has_types = reader.find("layer_types") != nullptr;
  require_value(window > 0 || has_types, "sliding_window", "expected a number from 1, got null");
  const Index pattern = (has_types ? reader.or_null() : reader).size("sliding_window_pattern", 6);
  std::vector<bool> sliding;
  for (Index layer = 0; layer < layers; ++layer) {
    sliding.push_back((layer + 1) % pattern != 0);
  }
  return layer_windows(reader, sliding, window);
}

GptConfig read_gemma3(const ConfigReader& reader) {
  GptConfig config =
      read_llama_layers(reader, {.vocabulary = 262208,
                                 .block = Index{1} << 17,
                                 .width = 2304,
                                 .layers = 26,
                                 .heads = 8,
                                 .key_heads = 4,
                                 .head_width = 256,
                                 .inner = 9216,
                                 .tied = true,
                                 .theta = kGlobalTheta,
                                 .null_keys = "attention_dropout",
                                 .local_theta = reader.number(kLocalThetaKey, kLocalTheta)});
  config.activation = read_activation(reader, "hidden_activation", "gelu_pytorch_tanh");
  config.qkv_bias = reader.boolean("attention_bias", false);
  config.attention_output_bias = config.qkv_bias;
  config.embedding_scale = std::sqrt(static_cast<double>(config.n_embd));
  config.norm_gain_plus_one = true;
  config.output_norms = true;
  config.qk_norm = true;
  config.windows = read_gemma_windows(reader, config.n_layer);
  const double scalar = reader.number("query_pre_attn_scalar", 256);
  require_value(scalar > 0, "query_pre_attn_scalar", "expected a number above 0, got ", scalar);
  config.attention_scale = 1 / std::sqrt(scalar);
  reader.or_null().require_default("use_bidirectional_attention", false);
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    require_value(reader.find(key) == nullptr, key, "only null is supported");
  }
  return config;
}

std::string refusal_of_gemma3(const GptConfig& config) {
  GptConfig plain = config;
  plain.norm_gain_plus_one = false;
  plain.output_norms = false;
  plain.embedding_scale = 0;
  plain.attention_scale = 0;
  plain.rope_local_theta = 0;
  const BlockPlan plan = block_plan(config, 0);
  const bool has_norms = config.norm_gain_plus_one && config.output_norms && config.qk_norm &&
                         config.embedding_scale == std::sqrt(static_cast<double>(config.n_embd));
  const bool has_windows =
      config.windows.empty() || (common_window(config) > 0 && config.rope_local_theta > 0);
  return first_refusal(
      {{!has_norms,
        "these norms cannot be expressed: Gemma's have gains of 1 + w, around attention and MLP"},
       {!has_windows, kOtherWindows},
       {plan.qkv_bias != plan.attention_output_bias || plan.mlp_bias, kOtherBiases},
       {true, refusal_of_llama_layers(plain)}});
}

// Returns the distance of the layers without a window, if it is the same everywhere, else 0.
Index window_pattern(const GptConfig& config) {
  const auto whole = std::ranges::find(config.windows, 0);
  const auto pattern =
      whole == config.windows.end() ? config.n_layer + 1 : whole - config.windows.begin() + 1;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    const bool has_window = block_plan(config, layer).attention.window > 0;
    if (has_window != ((layer + 1) % pattern != 0)) {
      return 0;
    }
  }
  return pattern;
}

Json gemma3_json(const GptConfig& config) {
  const BlockPlan block = block_plan(config, 0);
  Json json = llama_layers_json(config, "gemma3_text", "Gemma3ForCausalLM");
  json["hidden_activation"] = activation_name(config.activation);
  json["query_pre_attn_scalar"] = query_scalar_json(block.attention);
  json["attention_bias"] = block.qkv_bias;
  json["attn_logit_softcapping"] = nullptr;
  json["final_logit_softcapping"] = nullptr;
  json["sliding_window"] = config.windows.empty() ? 4096 : common_window(config);
  json["layer_types"] = layer_types_json(config);
  if (const Index pattern = config.windows.empty() ? 1 : window_pattern(config); pattern > 0) {
    json["sliding_window_pattern"] = pattern;  // for programs without layer_types
  }
  json.update(layer_ropes_json(config));
  json[kLocalThetaKey] = config.rope_local_theta > 0 ? config.rope_local_theta : kLocalTheta;
  return json;
}

}  // namespace

const ModelFamily kGemma3{.type = "gemma3_text",
                          .layout = llama_layout(output_norm_tensors),
                          .read_config = read_gemma3,
                          .refusal = refusal_of_gemma3,
                          .config_json = gemma3_json};

}  // namespace headlight
