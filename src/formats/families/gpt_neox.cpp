#include "formats/families/families.h"
#include "formats/gguf/gguf_layers.h"
#include "formats/gguf/gguf_rope.h"
#include "formats/huggingface/rope_config.h"
#include "headlight/base/error.h"

// GPT-NeoX (Black et al., arXiv 2204.06745), the family of Pythia: rotary positions on a quarter of
// each head, parallel attention and MLP, and rows of queries, keys and values grouped by head.
namespace headlight {
namespace {

void gpt_neox(const ConfigKeys& keys, GptConfig& config) {
  keys.size("vocab_size", config.vocab_size, 50432);
  keys.size("max_position_embeddings", config.block_size, 2048);
  keys.size("hidden_size", config.n_embd, 6144);
  keys.size("num_hidden_layers", config.n_layer, 44, kMostLayers);
  keys.size("num_attention_heads", config.n_head, 64);
  keys.size("intermediate_size", config.n_inner, 24576);
  keys.activation("hidden_act", config.activation, "gelu");
  keys.number("attention_dropout", config.attention_dropout, 0);
  const bool has_own_dropouts = config.residual_dropout != config.embedding_dropout;
  keys.number("hidden_dropout", config.residual_dropout, 0);
  config.embedding_dropout = keys.writes() ? config.embedding_dropout : config.residual_dropout;
  own_dropouts(keys, config, has_own_dropouts);
  keys.number("layer_norm_eps", config.layer_norm_epsilon, 1e-5);
  keys.boolean("tie_word_embeddings", config.tie_weights, false);
  keys.boolean("use_parallel_residual", config.parallel_residual, true);
  keys.biases("attention_bias", {&config.qkv_bias, &config.attention_output_bias}, true);
  require_value(keys.writes() || config.n_embd % config.n_head == 0, "num_attention_heads",
                "expected a divisor of ", config.n_embd, ", got ", config.n_head);
  config.position = PositionKind::rope;
  rope_keys(keys, {.theta = "rotary_emb_base", .share = "rotary_pct", .default_share = 0.25},
            config);
  keys.ignored({"rope_theta", "partial_rotary_factor"});  // by transformers, too
}

void gptneox(GgufKeys& keys, GptConfig& config) {
  gguf_layer_norms(keys, config);
  require_own_key_heads(keys, config);
  config.activation = Activation::gelu_erf;
  config.position = PositionKind::rope;
  keys.boolean("use_parallel_residual", config.parallel_residual, true);
  gguf_rope(keys, config);
}

constexpr PartNames kNeoXNames[] = {{Part::token_embedding, "embed_in"},
                                    {Part::final_norm, "final_layer_norm"},
                                    {Part::head, "embed_out"},
                                    {Part::attention_norm, "input_layernorm"},
                                    {Part::query_key_value, "attention.query_key_value"},
                                    {Part::attention_output, "attention.dense"},
                                    {Part::mlp_norm, "post_attention_layernorm"},
                                    {Part::mlp_in, "mlp.dense_h_to_4h"},
                                    {Part::mlp_out, "mlp.dense_4h_to_h"}};

std::vector<StoredTensor> gpt_neox_tensors(const Weight& weight, const GptConfig& config) {
  std::vector<StoredTensor> tensors = named_tensors(weight, config, "layers.", kNeoXNames);
  if (weight.part == Part::query_key_value) {
    tensors[0].order = {.outer = 1, .first = config.heads(weight.layer), .second = 3};
  }
  return tensors;
}

}  // namespace

std::span<const ModelFamily> gpt_neox_families() {
  static const ModelFamily family{
      .type = "gpt_neox",
      .architecture = "GPTNeoXForCausalLM",
      .layout = {.prefix = "gpt_neox.",
                 .head = "embed_out.weight",
                 .buffers = {".attention.bias", ".attention.masked_bias", "rotary_emb.inv_freq"},
                 .layers = "layers.",
                 .tensors_of = gpt_neox_tensors},
      .keys = gpt_neox,
      .gguf = {{.name = "gptneox",
                .layout = {.head = kGgufHead, .tensors_of = gguf_fused},
                .keys = gptneox,
                .has_own_head = true}}};
  return {&family, 1};
}

}  // namespace headlight
