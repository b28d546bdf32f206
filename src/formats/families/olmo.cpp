#include <optional>
#include <vector>

#include "formats/families/llama_layers.h"
#include "formats/huggingface/rope_config.h"
#include "headlight/base/error.h"

// OLMo 1, 2 and 3 (Groeneveld et al., arXiv 2402.00838; OLMo team, arXiv 2501.00656 and
// 2512.13961): Llama's layers. OLMo 1 has layer norms without weights. OLMo 2 and 3 normalise the
// outputs of attention and MLP, and queries and keys over all heads. OLMo 3 also has windows.
namespace headlight {
namespace {

constexpr double kOlmoEpsilon = 1e-5;  // not a key of OLMo 1
constexpr double kOlmo3Theta = 500000;

GptConfig read_olmo_layers(const ConfigReader& reader,
                           std::optional<double> local_theta = std::nullopt) {
  GptConfig config = read_llama_layers(reader, {.vocabulary = 50304,
                                                .epsilon = kOlmoEpsilon,
                                                .theta = local_theta.value_or(10000),
                                                .local_theta = local_theta});
  config.qkv_bias = reader.boolean("attention_bias", false);
  config.attention_output_bias = config.qkv_bias;
  return config;
}

GptConfig read_olmo(const ConfigReader& reader) {
  GptConfig config = read_olmo_layers(reader);
  config.layer_norm_epsilon = kOlmoEpsilon;
  reader.find("layer_norm_epsilon");  // written for readers; ignored by transformers
  config.norm_type = NormKind::layer;
  config.norm_weights = false;
  if (reader.find("clip_qkv") != nullptr) {
    config.qkv_clip = reader.number("clip_qkv", 0);
    require_value(config.qkv_clip > 0, "clip_qkv", "expected null or a number above 0, got ",
                  config.qkv_clip);
  }
  return config;
}

void set_olmo2_norms(GptConfig& config) {
  config.norm = NormPosition::output;
  config.qk_norm = true;
  config.qk_norm_whole = true;
}

GptConfig read_olmo2(const ConfigReader& reader) {
  GptConfig config = read_olmo_layers(reader);
  set_olmo2_norms(config);
  return config;
}

GptConfig read_olmo3(const ConfigReader& reader) {
  GptConfig config = read_olmo_layers(reader, kOlmo3Theta);
  set_olmo2_norms(config);
  const Index window = read_window(reader, 4096);
  std::vector<bool> sliding;
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    sliding.push_back((layer + 1) % 4 != 0);
  }
  require_value(window > 0 || reader.find("layer_types") != nullptr, "sliding_window",
                "expected a number from 1, got null");
  config.windows = layer_windows(reader, sliding, window);
  return config;
}

bool has_olmo_biases(const GptConfig& config) {
  const BlockPlan plan = block_plan(config, 0);
  return plan.qkv_bias == plan.attention_output_bias && !plan.mlp_bias;
}

std::string refusal_of_olmo(const GptConfig& config) {
  const bool has_norms = config.norm_type == NormKind::layer && !config.norm_weights &&
                         config.layer_norm_epsilon == kOlmoEpsilon;
  GptConfig plain = config;
  plain.norm_type = NormKind::rms;
  plain.norm_weights = true;
  plain.qkv_clip = 0;
  return first_refusal({{config.qk_norm, kQkNorm},
                        {!config.windows.empty(), kOtherWindows},
                        {!has_olmo_biases(config), kOtherBiases},
                        {!has_norms, kOtherLayers},
                        {true, refusal_of_llama_layers(plain)}});
}

std::string refusal_of_olmo3(const GptConfig& config) {
  const bool scales_windows = !config.windows.empty() && config.rope_local_theta == 0 &&
                              config.rope.scaling != RopeScaling::none;
  GptConfig plain = config;
  plain.norm = NormPosition::pre;
  plain.qk_norm_whole = false;
  plain.rope_local_theta = 0;
  return first_refusal({{!config.windows.empty() && common_window(config) == 0, kOtherWindows},
                        {scales_windows, "OLMo 3 scales no rotations in layers with windows"},
                        {!has_olmo_biases(config), kOtherBiases},
                        {config.norm != NormPosition::output || !config.qk_norm_whole,
                         "norms of OLMo 2 are on outputs, and on queries and keys of all heads"},
                        {true, refusal_of_llama_layers(plain)}});
}

std::string refusal_of_olmo2(const GptConfig& config) {
  return first_refusal(
      {{!config.windows.empty(), kOtherWindows}, {true, refusal_of_olmo3(config)}});
}

// Shortens rope_scaling to the two keys that transformers 4 accepts, for linear and dynamic only.
void shorten_scaling(const GptConfig& config, Json& json) {
  const RopeScaling scaling = config.rope.scaling;
  if (scaling == RopeScaling::linear || scaling == RopeScaling::dynamic) {
    json["rope_scaling"] = {{"type", name_of(scaling)}, {"factor", config.rope.factor}};
  }
}

Json olmo_json(const GptConfig& config) {
  Json json = llama_layers_json(config, "olmo", "OlmoForCausalLM", "layer_norm_epsilon");
  json["attention_bias"] = block_plan(config, 0).qkv_bias;
  shorten_scaling(config, json);
  json["clip_qkv"] = config.qkv_clip > 0 ? Json(config.qkv_clip) : Json();
  return json;
}

Json olmo2_json(const GptConfig& config) {
  Json json = llama_layers_json(config, "olmo2", "Olmo2ForCausalLM");
  shorten_scaling(config, json);
  json["attention_bias"] = block_plan(config, 0).qkv_bias;
  return json;
}

Json olmo3_json(const GptConfig& config) {
  Json json = llama_layers_json(config, "olmo3", "Olmo3ForCausalLM");
  json["attention_bias"] = block_plan(config, 0).qkv_bias;
  json["sliding_window"] = common_window(config);
  json["layer_types"] = layer_types_json(config);
  json.update(layer_ropes_json(config));
  return json;
}

}  // namespace

const ModelFamily kOlmo{.type = "olmo",
                        .layout = llama_layout(),
                        .read_config = read_olmo,
                        .refusal = refusal_of_olmo,
                        .config_json = olmo_json};

const ModelFamily kOlmo2{.type = "olmo2",
                         .layout = llama_layout(output_norm_tensors),
                         .read_config = read_olmo2,
                         .refusal = refusal_of_olmo2,
                         .config_json = olmo2_json};

const ModelFamily kOlmo3{.type = "olmo3",
                         .layout = llama_layout(output_norm_tensors),
                         .read_config = read_olmo3,
                         .refusal = refusal_of_olmo3,
                         .config_json = olmo3_json};

}  // namespace headlight
