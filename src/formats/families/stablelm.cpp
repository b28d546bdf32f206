#include "formats/families/llama_layers.h"
#include "headlight/base/error.h"

// StableLM (Bellagente et al., arXiv 2402.17834): Llama's layers with layer norms and rotary
// positions on a quarter of each head.
namespace headlight {
namespace {

GptConfig read_stablelm(const ConfigReader& reader) {
  GptConfig config = read_llama_layers(reader, {.vocabulary = 50304,
                                                .block = 4096,
                                                .width = 2560,
                                                .key_heads = 32,
                                                .inner = 6912,
                                                .epsilon = 1e-5,
                                                .share = 0.25,
                                                .epsilon_key = "layer_norm_eps",
                                                .null_keys = "head_dim"});
  config.norm_type = NormKind::layer;
  config.bias = true;  // of the norms
  config.qkv_bias = reader.boolean("use_qkv_bias", false);
  config.attention_output_bias = false;
  config.mlp_bias = false;
  config.parallel_residual = reader.boolean("use_parallel_residual", false);
  config.shared_norm = config.parallel_residual;
  require_heads_of_model_width(config);
  require_value(reader.number("hidden_dropout", 0) == 0, "hidden_dropout", "only 0 is supported");
  reader.require_default("qk_layernorm", false);
  return config;
}

std::string refusal_of_stablelm(const GptConfig& config) {
  GptConfig plain = config;
  plain.norm_type = NormKind::rms;
  plain.parallel_residual = false;
  plain.rope.width = 0;
  const BlockPlan plan = block_plan(config, 0);
  const bool has_norms = config.norm_type == NormKind::layer && config.bias &&
                         config.parallel_residual == config.shared_norm;
  const bool has_heads = plan.attention.inner_width() == config.n_embd;
  return first_refusal({{config.qk_norm, kQkNorm},
                        {!config.windows.empty(), kOtherWindows},
                        {!has_only_qkv_bias(config, plan.qkv_bias), kOtherBiases},
                        {!has_norms || !has_heads, kOtherLayers},
                        {true, refusal_of_llama_layers(plain)}});
}

Json stablelm_json(const GptConfig& config) {
  Json json = llama_layers_json(config, "stablelm", "StableLmForCausalLM", "layer_norm_eps");
  add_rotary_share(config, json);
  json["use_qkv_bias"] = block_plan(config, 0).qkv_bias;
  json["use_parallel_residual"] = config.parallel_residual;
  json["qk_layernorm"] = false;
  return json;
}

}  // namespace

const ModelFamily kStableLm{.type = "stablelm",
                            .layout = llama_layout(),
                            .read_config = read_stablelm,
                            .refusal = refusal_of_stablelm,
                            .config_json = stablelm_json};

}  // namespace headlight
