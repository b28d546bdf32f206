#include "formats/families/families.h"
#include "formats/gguf/gguf_layers.h"

// GPT-2 (Radford et al. 2019), whose tensor names Gpt::parameters() uses.
namespace headlight {
namespace {

// Matrices of layers are stored as [inputs, outputs].
std::vector<StoredTensor> gpt2_tensors(const Weight& weight, const GptConfig&) {
  return {{.name = weight.name,
           .rows = weight.shape[0],
           .transposed = weight.multiplied && weight.layer != kNoLayer}};
}

void gpt2_gguf_keys(GgufKeys& keys, GptConfig& config) {
  gguf_layer_norms(keys, config);
  require_own_key_heads(keys, config);
  config.bias = false;  // until a bias is not 0: see ModelWeights::infer_missing_fields
  config.activation = Activation::gelu_tanh;
}

constexpr KeyAlias kGpt2Aliases[] = {{"hidden_size", "n_embd"},
                                     {"max_position_embeddings", "n_positions"},
                                     {"num_attention_heads", "n_head"},
                                     {"num_hidden_layers", "n_layer"}};

}  // namespace

void gpt2_keys(const ConfigKeys& keys, GptConfig& config) {
  if (keys.writes()) {
    config = config.canonical();
  }
  keys.size("vocab_size", config.vocab_size, 50257);
  keys.size("n_ctx", config.block_size, 1024);
  keys.size("n_positions", config.block_size, config.block_size);
  keys.size("n_embd", config.n_embd, 768);
  keys.size("n_layer", config.n_layer, 12, kMostLayers);
  keys.size("n_head", config.n_head, 12);
  keys.or_null().size("n_inner", config.n_inner, 0);
  keys.activation("activation_function", config.activation, "gelu_new");
  keys.number("resid_pdrop", config.residual_dropout, 0.1);
  keys.number("embd_pdrop", config.embedding_dropout, 0.1);
  keys.number("attn_pdrop", config.attention_dropout, 0.1);
  keys.number("layer_norm_epsilon", config.layer_norm_epsilon, 1e-5);
  keys.constant("scale_attn_weights", true);
  keys.constant("scale_attn_by_inverse_layer_idx", false);
  keys.unread("reorder_and_upcast_attn", false);
  keys.unwritten("add_cross_attention", false);
  keys.boolean("headlight_bias", config.bias, true);
  keys.boolean("tie_word_embeddings", config.tie_weights, true);
}

std::span<const ModelFamily> gpt2_families() {
  static const ModelFamily family{
      .type = "gpt2",
      .architecture = "GPT2LMHeadModel",
      .layout = {.prefix = "transformer.",
                 .head = "lm_head.weight",
                 .buffers = {".attn.bias", ".attn.masked_bias"},
                 .layers = "h.",
                 .tensors_of = gpt2_tensors,
                 .has_all_biases = true},
      .keys = gpt2_keys,
      .aliases = kGpt2Aliases,
      .gguf = {{.name = "gpt2",
                .layout = {.head = kGgufHead, .tensors_of = gguf_fused, .has_all_biases = true},
                .keys = gpt2_gguf_keys}}};
  return {&family, 1};
}

}  // namespace headlight
