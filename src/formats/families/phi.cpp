#include "formats/families/llama_layers.h"
#include "headlight/base/error.h"

// Phi-3 (Abdin et al., arXiv 2404.14219): Llama's layers, with matrices of queries, keys and values
// and of gate and MLP in one tensor each, and heads that are rotated in part. Phi-1, Phi-1.5 and
// Phi-2 (Gunasekar et al., arXiv 2306.11644): attention and MLP in parallel after one layer norm,
// rotary positions on a part of each head, and a head with a bias.
namespace headlight {
namespace {

void phi_dropouts(const ConfigKeys& keys, GptConfig& config) {
  keys.number("resid_pdrop", config.residual_dropout, config.residual_dropout);
  keys.number("embd_pdrop", config.embedding_dropout, config.embedding_dropout);
}

void require_phi3_rope(const GptConfig& config) {
  const RopeScaling scaling = config.rope.scaling;
  const bool is_long = scaling == RopeScaling::longrope;
  require_value(scaling == RopeScaling::none || is_long, "rope_type",
                "expected default or longrope, got ", name_of(scaling));
  require_value(!is_long || config.elements_of_head() == config.n_embd / config.n_head, "rope_type",
                "longrope needs heads of the width hidden_size / num_attention_heads");
}

void phi3(const ConfigKeys& keys, GptConfig& config) {
  const bool is_long = config.rope.scaling == RopeScaling::longrope;
  keys.unread("original_max_position_embeddings",
              is_long ? config.rope.original_max_position_embeddings : config.block_size);
  llama_layers(keys, config,
               {.vocabulary = 32064,
                .block = 4096,
                .width = 3072,
                .inner = 8192,
                .epsilon = 1e-5,
                .share = 1,
                .longrope_original = 4096});
  phi_dropouts(keys, config);
  equal_windows(keys, config);
  keys.unread("pad_token_id", nullptr);  // the default may be outside of the vocabulary
  keys.ignored({"original_max_position_embeddings"});  // without effect on unscaled rotations
  require_phi3_rope(config);
}

void phi(const ConfigKeys& keys, GptConfig& config) {
  llama_layers(keys, config,
               {.vocabulary = 51200,
                .width = 2048,
                .layers = 24,
                .inner = 8192,
                .epsilon = 1e-5,
                .activation = "gelu_new",
                .share = 0.5,
                .epsilon_key = "layer_norm_eps",
                .null_keys = "num_key_value_heads attention_dropout"});
  keys.boolean("qk_layernorm", config.qk_norm, false);
  phi_dropouts(keys, config);
  config.norm_type = NormKind::layer;
  config.bias = true;
  config.head_bias = true;
  config.gated_mlp = false;
  config.parallel_residual = true;
  config.shared_norm = true;
}

void phi3_gguf(GgufKeys& keys, GptConfig& config) {
  gguf_rms_layers(keys, config);
  require_idle_window(keys, config);
}

// Makes the gate and the first matrix of an MLP halves of one tensor.
void join_gate(const Weight& weight, StoredTensor& tensor) {
  const Index inner = tensor.rows;
  tensor.file_rows = 2 * inner;
  tensor.file_begin = weight.part == Part::mlp_gate ? 0 : inner;
}

bool is_in_joined_tensor(const Weight& weight) {
  return weight.part == Part::mlp_gate || weight.part == Part::mlp_in;
}

std::vector<StoredTensor> phi3_tensors(const Weight& weight, const GptConfig& config) {
  constexpr PartNames kNames[] = {{Part::query_key_value, "self_attn.qkv_proj"},
                                  {Part::mlp_gate, "mlp.gate_up_proj"},
                                  {Part::mlp_in, "mlp.gate_up_proj"}};
  std::vector<StoredTensor> tensors = renamed_llama_tensors(weight, config, kNames);
  if (is_in_joined_tensor(weight)) {
    join_gate(weight, tensors[0]);
  }
  return tensors;
}

std::vector<StoredTensor> phi3_gguf_tensors(const Weight& weight, const GptConfig& config) {
  constexpr PartNames kNames[] = {{Part::mlp_gate, "", "ffn_up"}, {Part::mlp_in, "", "ffn_up"}};
  if (!is_in_joined_tensor(weight)) {
    return gguf_fused(weight, config);
  }
  std::vector<StoredTensor> tensors =
      named_tensors(weight, config, "blk.", kNames, &PartNames::gguf);
  join_gate(weight, tensors[0]);
  return tensors;
}

std::vector<StoredTensor> phi_tensors(const Weight& weight, const GptConfig& config) {
  constexpr PartNames kNames[] = {{Part::final_norm, "final_layernorm"},
                                  {Part::attention_output, "self_attn.dense"},
                                  {Part::query_norm, "self_attn.q_layernorm"},
                                  {Part::key_norm, "self_attn.k_layernorm"},
                                  {Part::mlp_in, "mlp.fc1"},
                                  {Part::mlp_out, "mlp.fc2"}};
  return renamed_llama_tensors(weight, config, kNames);
}

WeightLayout phi_layout() {
  WeightLayout layout = llama_layout(phi_tensors);
  layout.head_names = "lm_head.";
  return layout;
}

}  // namespace

std::span<const ModelFamily> phi_families() {
  static const ModelFamily families[] = {
      {.type = "phi3",
       .architecture = "Phi3ForCausalLM",
       .layout = llama_layout(phi3_tensors),
       .keys = phi3,
       .gguf = {{.name = "phi3", .layout = gguf_layout(phi3_gguf_tensors), .keys = phi3_gguf}}},
      {.type = "phi", .architecture = "PhiForCausalLM", .layout = phi_layout(), .keys = phi}};
  return families;
}

}  // namespace headlight
