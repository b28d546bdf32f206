#include <cmath>

#include "formats/families/llama_layers.h"

// Gemma 1 (Gemma Team, arXiv 2403.08295): Llama's layers with gains of 1 + w and scaled embeddings.
namespace headlight {
namespace {

double embedding_scale(const GptConfig& config) {
  return std::sqrt(static_cast<double>(config.n_embd));
}

GptConfig read_gemma(const ConfigReader& reader) {
  GptConfig config = read_llama_layers(reader, {.vocabulary = 256000,
                                                .block = 8192,
                                                .width = 3072,
                                                .layers = 28,
                                                .heads = 16,
                                                .key_heads = 16,
                                                .head_width = 256,
                                                .inner = 24576,
                                                .activation = "gelu_pytorch_tanh",
                                                .tied = true,
                                                .null_keys = ""});
  if (config.activation == Activation::gelu_erf) {
    config.activation = Activation::gelu_tanh;  // as in transformers: the first files say "gelu"
  }
  config.qkv_bias = reader.boolean("attention_bias", false);
  config.attention_output_bias = config.qkv_bias;
  config.norm_gain_plus_one = true;
  config.embedding_scale = embedding_scale(config);
  reader.or_null().require_default("use_bidirectional_attention", false);
  reader.find("hidden_activation");  // ignored by transformers too
  return config;
}

std::string refusal_of_gemma(const GptConfig& config) {
  GptConfig plain = config;
  plain.norm_gain_plus_one = false;
  plain.embedding_scale = 0;
  const BlockPlan plan = block_plan(config, 0);
  const bool has_layers = config.norm_gain_plus_one &&
                          config.embedding_scale == embedding_scale(config) &&
                          config.activation != Activation::gelu_erf;
  return first_refusal(
      {{config.qk_norm, kQkNorm},
       {!config.windows.empty(), kOtherWindows},
       {plan.qkv_bias != plan.attention_output_bias || plan.mlp_bias, kOtherBiases},
       {!has_layers, kOtherLayers},
       {true, refusal_of_llama_layers(plain)}});
}

Json gemma_json(const GptConfig& config) {
  Json json = llama_layers_json(config, "gemma", "GemmaForCausalLM");
  json["hidden_act"] = activation_name(config.activation);
  json["attention_bias"] = block_plan(config, 0).qkv_bias;
  return json;
}

}  // namespace

const ModelFamily kGemma{.type = "gemma",
                         .layout = llama_layout(),
                         .read_config = read_gemma,
                         .refusal = refusal_of_gemma,
                         .config_json = gemma_json};

}  // namespace headlight
