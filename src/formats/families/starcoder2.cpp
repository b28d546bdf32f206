#include "formats/families/llama_layers.h"

// StarCoder 2 (Lozhkov et al., arXiv 2402.19173): rotary positions and shared keys as in Llama,
// with layer norms, biases and MLPs without a gate.
namespace headlight {
namespace {

constexpr const char* kStarcoder2Epsilon = "norm_epsilon";

GptConfig read_starcoder2(const ConfigReader& reader) {
  GptConfig config = read_llama_layers(reader, {.vocabulary = 49152,
                                                .block = 4096,
                                                .width = 3072,
                                                .layers = 30,
                                                .heads = 24,
                                                .key_heads = 2,
                                                .inner = 12288,
                                                .epsilon = 1e-5,
                                                .activation = "gelu_pytorch_tanh",
                                                .tied = true,
                                                .epsilon_key = kStarcoder2Epsilon,
                                                .null_keys = "head_dim"});
  config.norm_type = NormKind::layer;
  config.gated_mlp = false;
  config.bias = true;  // of the norms
  config.qkv_bias = reader.boolean("use_bias", true);
  config.attention_output_bias = config.qkv_bias;
  config.mlp_bias = config.qkv_bias;
  config.windows = read_equal_windows(reader, config.n_layer);
  config.residual_dropout = reader.number("residual_dropout", config.residual_dropout);
  config.embedding_dropout = reader.number("embedding_dropout", config.embedding_dropout);
  return config;
}

std::string refusal_of_starcoder2(const GptConfig& config) {
  GptConfig plain = config;
  plain.norm_type = NormKind::rms;
  plain.gated_mlp = true;
  const BlockPlan plan = block_plan(config, 0);
  const bool has_biases =
      config.bias && plan.qkv_bias == plan.attention_output_bias && plan.qkv_bias == plan.mlp_bias;
  return first_refusal(
      {{config.qk_norm, kQkNorm},
       {!has_equal_windows(config), kOtherWindows},
       {!has_biases, kOtherBiases},
       {config.norm_type != NormKind::layer || config.gated_mlp || !config.mlp, kOtherLayers},
       {true, refusal_of_llama_layers(plain)}});
}

Json starcoder2_json(const GptConfig& config) {
  Json json = llama_layers_json(config, "starcoder2", "Starcoder2ForCausalLM", kStarcoder2Epsilon);
  json["hidden_act"] = activation_name(config.activation);
  json["use_bias"] = block_plan(config, 0).qkv_bias;
  json["sliding_window"] = config.windows.empty() ? Json() : Json(common_window(config));
  json["residual_dropout"] = config.residual_dropout;
  json["embedding_dropout"] = config.embedding_dropout;
  return json;
}

constexpr Choice<Part> kStarcoder2Names[] = {{"mlp.c_fc", Part::mlp_in},
                                             {"mlp.c_proj", Part::mlp_out}};

std::vector<StoredTensor> starcoder2_tensors(const Weight& weight, const GptConfig& config) {
  return renamed_llama_tensors(weight, config, kStarcoder2Names);
}

}  // namespace

const ModelFamily kStarcoder2{.type = "starcoder2",
                              .layout = llama_layout(starcoder2_tensors),
                              .read_config = read_starcoder2,
                              .refusal = refusal_of_starcoder2,
                              .config_json = starcoder2_json};

}  // namespace headlight
