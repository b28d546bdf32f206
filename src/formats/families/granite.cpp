#include <cmath>

#include "formats/families/llama_layers.h"
#include "headlight/base/error.h"

// Granite 3 (IBM): Llama's layers with four factors. residual_multiplier r scales what attention
// and MLP add to the residual stream. Headlight's residual stream is the one of transformers
// divided by r: with epsilon divided by r^2, the RMS norms that read it are the same. Hooks of
// users see the one of transformers: GptConfig::residual_multiplier.
namespace headlight {
namespace {

double positive(const ConfigReader& reader, const char* key) {
  const double value = reader.number(key, 1);
  require_value(value > 0, key, "expected a number above 0, got ", value);
  return value;
}

GptConfig read_granite(const ConfigReader& reader) {
  GptConfig config = read_llama_layers(reader, {});
  config.qkv_bias = reader.boolean("attention_bias", false);
  config.attention_output_bias = config.qkv_bias;
  config.mlp_bias = reader.boolean("mlp_bias", false);
  const double residual = positive(reader, "residual_multiplier");
  config.residual_multiplier = residual;
  config.embedding_scale = positive(reader, "embedding_multiplier") / residual;
  config.layer_norm_epsilon /= residual * residual;
  config.attention_scale = positive(reader, "attention_multiplier");
  config.logit_scale = 1 / positive(reader, "logits_scaling");
  return config;
}

std::string refusal_of_granite(const GptConfig& config) {
  GptConfig plain = config;
  plain.embedding_scale = 0;
  plain.attention_scale = 0;
  plain.logit_scale = 0;
  const BlockPlan plan = block_plan(config, 0);
  return first_refusal({{config.qk_norm, kQkNorm},
                        {!config.windows.empty(), kOtherWindows},
                        {plan.qkv_bias != plan.attention_output_bias, kOtherBiases},
                        {true, refusal_of_llama_layers(plain)}});
}

Json granite_json(const GptConfig& config) {
  const BlockPlan plan = block_plan(config, 0);
  const double default_scale = 1 / std::sqrt(static_cast<double>(plan.attention.head_width));
  const auto or_one = [](double value) { return value > 0 ? value : 1; };
  const double residual = or_one(config.residual_multiplier);
  Json json = llama_layers_json(config, "granite", "GraniteForCausalLM");
  json["rms_norm_eps"] = config.layer_norm_epsilon * residual * residual;
  json["attention_bias"] = plan.qkv_bias;
  json["mlp_bias"] = plan.mlp_bias;
  json["residual_multiplier"] = residual;
  json["embedding_multiplier"] = or_one(config.embedding_scale) * residual;
  json["attention_multiplier"] = plan.attention.scale > 0 ? plan.attention.scale : default_scale;
  json["logits_scaling"] = 1 / or_one(config.logit_scale);
  return json;
}

}  // namespace

const ModelFamily kGranite{.type = "granite",
                           .layout = llama_layout(),
                           .read_config = read_granite,
                           .refusal = refusal_of_granite,
                           .config_json = granite_json};

}  // namespace headlight
