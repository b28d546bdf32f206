#include "formats/families/llama_layers.h"
#include "headlight/base/error.h"

// Phi-3 (Abdin et al., arXiv 2404.14219): Llama's layers, with matrices of queries, keys and values
// and of gate and MLP in one tensor each, and heads that are rotated in part.
namespace headlight {
namespace {

// Returns why Phi-3 cannot have the rotation; "" if it can.
std::string refusal_of_phi3_rope(const GptConfig& config) {
  const RopeScaling scaling = config.rope.scaling;
  const bool is_long = scaling == RopeScaling::longrope;
  return first_refusal({{scaling != RopeScaling::none && !is_long,
                         concat_text("expected default or longrope, got ", name_of(scaling))},
                        {is_long && config.elements_of_head() != config.n_embd / config.n_head,
                         "longrope needs heads of the width hidden_size / num_attention_heads"}});
}

GptConfig read_phi3(const ConfigReader& reader) {
  GptConfig config = read_llama_layers(reader, {.vocabulary = 32064,
                                                .block = 4096,
                                                .width = 3072,
                                                .inner = 8192,
                                                .epsilon = 1e-5,
                                                .share = 1,
                                                .longrope_original = 4096});
  config.residual_dropout = reader.number("resid_pdrop", config.residual_dropout);
  config.embedding_dropout = reader.number("embd_pdrop", config.embedding_dropout);
  config.windows = read_equal_windows(reader, config.n_layer);
  reader.find("original_max_position_embeddings");  // without effect on unscaled rotations
  const std::string refusal = refusal_of_phi3_rope(config);
  require_value(refusal.empty(), "rope_type", refusal);
  return config;
}

std::string refusal_of_phi3(const GptConfig& config) {
  GptConfig plain = config;
  plain.rope.width = 0;
  plain.rope.scaling = RopeScaling::none;
  return first_refusal({{config.qk_norm, kQkNorm},
                        {!has_equal_windows(config), kOtherWindows},
                        {!has_only_qkv_bias(config, false), kOtherBiases},
                        {true, refusal_of_phi3_rope(config)},
                        {true, refusal_of_llama_layers(plain)}});
}

Json phi3_json(const GptConfig& config) {
  Json json = llama_layers_json(config, "phi3", "Phi3ForCausalLM");
  json["pad_token_id"] = Json();  // the default may be outside of the vocabulary
  add_rotary_share(config, json);
  json["original_max_position_embeddings"] = config.rope.scaling == RopeScaling::longrope
                                                 ? config.rope.original_max_position_embeddings
                                                 : config.block_size;
  json["sliding_window"] = config.windows.empty() ? Json() : Json(common_window(config));
  json["resid_pdrop"] = config.residual_dropout;
  json["embd_pdrop"] = config.embedding_dropout;
  return json;
}

constexpr Choice<Part> kPhi3Names[] = {{"self_attn.qkv_proj", Part::query_key_value},
                                       {"mlp.gate_up_proj", Part::mlp_gate},
                                       {"mlp.gate_up_proj", Part::mlp_in}};

std::vector<StoredTensor> phi3_tensors(const Weight& weight, const GptConfig& config) {
  std::vector<StoredTensor> tensors = renamed_llama_tensors(weight, config, kPhi3Names);
  if (weight.part == Part::mlp_gate || weight.part == Part::mlp_in) {
    const Index inner = tensors[0].rows;
    tensors[0].file_rows = 2 * inner;
    tensors[0].file_begin = weight.part == Part::mlp_gate ? 0 : inner;
  }
  return tensors;
}

}  // namespace

const ModelFamily kPhi3{.type = "phi3",
                        .layout = llama_layout(phi3_tensors),
                        .read_config = read_phi3,
                        .refusal = refusal_of_phi3,
                        .config_json = phi3_json};

}  // namespace headlight
