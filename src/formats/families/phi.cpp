#include "formats/families/llama_layers.h"

// Phi-1, Phi-1.5 and Phi-2 (Gunasekar et al., arXiv 2306.11644): attention and MLP in parallel
// after one layer norm, rotary positions on a part of each head, and a head with a bias.
namespace headlight {
namespace {

GptConfig read_phi(const ConfigReader& reader) {
  GptConfig config =
      read_llama_layers(reader, {.vocabulary = 51200,
                                 .width = 2048,
                                 .layers = 24,
                                 .inner = 8192,
                                 .epsilon = 1e-5,
                                 .activation = "gelu_new",
                                 .share = 0.5,
                                 .epsilon_key = "layer_norm_eps",
                                 .null_keys = "num_key_value_heads attention_dropout"});
  config.norm_type = NormKind::layer;
  config.bias = true;
  config.head_bias = true;
  config.gated_mlp = false;
  config.parallel_residual = true;
  config.shared_norm = true;
  config.qk_norm = reader.boolean("qk_layernorm", false);
  config.residual_dropout = reader.number("resid_pdrop", config.residual_dropout);
  config.embedding_dropout = reader.number("embd_pdrop", config.embedding_dropout);
  return config;
}

std::string refusal_of_phi(const GptConfig& config) {
  GptConfig plain = config;
  plain.norm_type = NormKind::rms;
  plain.gated_mlp = true;
  plain.parallel_residual = false;
  plain.rope.width = 0;
  plain.head_bias = false;
  const BlockPlan plan = block_plan(config, 0);
  const bool has_biases =
      config.bias && plan.qkv_bias && plan.attention_output_bias && plan.mlp_bias;
  const bool has_layers = config.norm_type == NormKind::layer && config.shared_norm &&
                          !config.gated_mlp && config.head_bias;
  return first_refusal({{!config.windows.empty(), kOtherWindows},
                        {!has_biases, kOtherBiases},
                        {!has_layers, kOtherLayers},
                        {true, refusal_of_llama_layers(plain)}});
}

Json phi_json(const GptConfig& config) {
  Json json = llama_layers_json(config, "phi", "PhiForCausalLM", "layer_norm_eps");
  add_rotary_share(config, json);
  json["qk_layernorm"] = config.qk_norm;
  json["resid_pdrop"] = config.residual_dropout;
  json["embd_pdrop"] = config.embedding_dropout;
  return json;
}

constexpr Choice<Part> kPhiNames[] = {{"final_layernorm", Part::final_norm},
                                      {"self_attn.dense", Part::attention_output},
                                      {"self_attn.q_layernorm", Part::query_norm},
                                      {"self_attn.k_layernorm", Part::key_norm},
                                      {"mlp.fc1", Part::mlp_in},
                                      {"mlp.fc2", Part::mlp_out}};

WeightLayout phi_layout() {
  WeightLayout layout = llama_layout([](const Weight& weight, const GptConfig& config) {
    return renamed_llama_tensors(weight, config, kPhiNames);
  });
  layout.head_names = "lm_head.";
  return layout;
}

}  // namespace

const ModelFamily kPhi{.type = "phi",
                       .layout = phi_layout(),
                       .read_config = read_phi,
                       .refusal = refusal_of_phi,
                       .config_json = phi_json};

}  // namespace headlight
