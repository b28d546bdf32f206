#include <cmath>
#include <vector>

#include "formats/families/llama_layers.h"
#include "headlight/base/error.h"

// Gemma 2 (Gemma Team, arXiv 2408.00118): Gemma's layers with norms before and after attention and
// MLP, windows in every second layer, and soft caps of scores and logits.
namespace headlight {
namespace {

std::vector<Index> read_gemma2_windows(const ConfigReader& reader, Index layers) {
  const Index window = read_window(reader, 4096);
  require_value(window > 0 || reader.find("layer_types") != nullptr, "sliding_window",
                "expected a number from 1, got null");
  std::vector<bool> sliding;
  for (Index layer = 0; layer < layers; ++layer) {
    sliding.push_back(layer % 2 == 0);
  }
  return layer_windows(reader, sliding, window);
}

GptConfig read_gemma2(const ConfigReader& reader) {
  GptConfig config = read_llama_layers(reader, {.vocabulary = 256000,
                                                .block = 8192,
                                                .width = 2304,
                                                .layers = 26,
                                                .heads = 8,
                                                .key_heads = 4,
                                                .head_width = 256,
                                                .inner = 9216,
                                                .tied = true,
                                                .null_keys = "attention_dropout"});
  config.activation = read_activation(reader, "hidden_activation", "gelu_pytorch_tanh");
  config.qkv_bias = reader.boolean("attention_bias", false);
  config.attention_output_bias = config.qkv_bias;
  config.norm_gain_plus_one = true;
  config.output_norms = true;
  config.embedding_scale = std::sqrt(static_cast<double>(config.n_embd));
  const double scalar = reader.number("query_pre_attn_scalar", 256);
  require_value(scalar > 0, "query_pre_attn_scalar", "expected a number above 0, got ", scalar);
  config.attention_scale = 1 / std::sqrt(scalar);
  config.attention_cap = read_cap(reader, "attn_logit_softcapping", 50);
  config.logit_cap = read_cap(reader, "final_logit_softcapping", 30);
  config.windows = read_gemma2_windows(reader, config.n_layer);
  reader.or_null().require_default("use_bidirectional_attention", false);
  return config;
}

std::string refusal_of_gemma2(const GptConfig& config) {
  GptConfig plain = config;
  plain.output_norms = false;
  plain.attention_scale = 0;
  plain.attention_cap = 0;
  plain.logit_cap = 0;
  plain.windows.clear();
  const bool has_windows = config.windows.empty() || common_window(config) > 0;
  return first_refusal({{!has_windows, kOtherWindows},
                        {!config.output_norms, kOtherLayers},
                        {true, kGemma.refusal(plain)}});
}

Json gemma2_json(const GptConfig& config) {
  const BlockPlan plan = block_plan(config, 0);
  Json json = llama_layers_json(config, "gemma2", "Gemma2ForCausalLM");
  json["hidden_activation"] = activation_name(config.activation);
  json["attention_bias"] = plan.qkv_bias;
  json["query_pre_attn_scalar"] = query_scalar_json(plan.attention);
  json["attn_logit_softcapping"] = cap_json(config.attention_cap);
  json["final_logit_softcapping"] = cap_json(config.logit_cap);
  json["sliding_window"] = config.windows.empty() ? 4096 : common_window(config);
  json["layer_types"] = layer_types_json(config);
  return json;
}

}  // namespace

const ModelFamily kGemma2{.type = "gemma2",
                          .layout = llama_layout(output_norm_tensors),
                          .read_config = read_gemma2,
                          .refusal = refusal_of_gemma2,
                          .config_json = gemma2_json};

}  // namespace headlight
