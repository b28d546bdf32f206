#include "formats/families/families.h"
#include "formats/families/layer_keys.h"
#include "headlight/base/error.h"

// OPT (Zhang et al., arXiv 2205.01068): GPT-2's layers with ReLU, other names, and two rows in
// front of the positions that no token uses. It is written as GPT-2.
namespace headlight {
namespace {

constexpr Index kUnusedPositions = 2;

void opt(const ConfigKeys& keys, GptConfig& config) {
  keys.size("vocab_size", config.vocab_size, 50272);
  keys.size("max_position_embeddings", config.block_size, 2048);
  keys.size("hidden_size", config.n_embd, 768);
  keys.size("num_hidden_layers", config.n_layer, 12, kMostLayers);
  keys.size("num_attention_heads", config.n_head, 12);
  keys.size("ffn_dim", config.n_inner, 3072);
  keys.activation("activation_function", config.activation, "relu");
  keys.number("dropout", config.residual_dropout, 0.1);
  keys.number("attention_dropout", config.attention_dropout, 0);
  keys.boolean("tie_word_embeddings", config.tie_weights, true);
  for (const char* key : {"do_layer_norm_before", "enable_bias", "layer_norm_elementwise_affine"}) {
    keys.unwritten(key, true);
  }
  keys.unwritten("_remove_final_layer_norm", false);
  require_value(
      keys.or_null().unwritten_size("word_embed_proj_dim", config.n_embd) == config.n_embd,
      "word_embed_proj_dim", "only hidden_size is supported");
  double layerdrop = 0;
  keys.number("layerdrop", layerdrop, 0);
  require_value(layerdrop == 0, "layerdrop", "only 0 is supported");
}

constexpr PartNames kOptNames[] = {
    {Part::token_embedding, "embed_tokens"},
    {Part::position_embedding, "embed_positions"},
    {Part::final_norm, "final_layer_norm"},
    {Part::head, "lm_head"},
    {Part::attention_norm, "self_attn_layer_norm"},
    {Part::query_key_value, "self_attn.q_proj self_attn.k_proj self_attn.v_proj"},
    {Part::attention_output, "self_attn.out_proj"},
    {Part::mlp_norm, "final_layer_norm"},
    {Part::mlp_in, "fc1"},
    {Part::mlp_out, "fc2"}};

std::vector<StoredTensor> opt_tensors(const Weight& weight, const GptConfig& config) {
  std::vector<StoredTensor> tensors = named_tensors(weight, config, "layers.", kOptNames);
  if (weight.part == Part::position_embedding) {
    tensors[0].file_rows = tensors[0].rows + kUnusedPositions;
    tensors[0].file_begin = kUnusedPositions;
  }
  return tensors;
}

}  // namespace

std::span<const ModelFamily> opt_families() {
  static const ModelFamily family{.type = "opt",
                                  .architecture = "OPTForCausalLM",
                                  .layout = {.prefix = "model.decoder.",
                                             .head = "lm_head.weight",
                                             .layers = "layers.",
                                             .tensors_of = opt_tensors},
                                  .keys = opt};
  return {&family, 1};
}

}  // namespace headlight
