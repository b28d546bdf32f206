#include "formats/families/families.h"
#include "headlight/base/error.h"

// OPT (Zhang et al., arXiv 2205.01068): GPT-2's layers with ReLU, other names, and two rows in
// front of the positions that no token uses. It is written as GPT-2.
namespace headlight {
namespace {

constexpr Index kUnusedPositions = 2;

GptConfig read_opt(const ConfigReader& reader) {
  GptConfig config;
  config.vocab_size = reader.size("vocab_size", 50272);
  config.block_size = reader.size("max_position_embeddings", 2048);
  config.n_embd = reader.size("hidden_size", 768);
  config.n_layer = reader.size("num_hidden_layers", 12, 1, kMostLayers);
  config.n_head = reader.size("num_attention_heads", 12);
  config.n_inner = reader.size("ffn_dim", 3072);
  config.activation = read_activation(reader, "activation_function", "relu");
  config.residual_dropout = reader.number("dropout", 0.1);
  config.attention_dropout = reader.number("attention_dropout", 0);
  config.tie_weights = reader.boolean("tie_word_embeddings", true);
  for (const char* key : {"do_layer_norm_before", "enable_bias", "layer_norm_elementwise_affine"}) {
    reader.require_default(key, true);
  }
  reader.require_default("_remove_final_layer_norm", false);
  require_value(reader.or_null().size("word_embed_proj_dim", config.n_embd) == config.n_embd,
                "word_embed_proj_dim", "only hidden_size is supported");
  require_value(reader.number("layerdrop", 0) == 0, "layerdrop", "only 0 is supported");
  return config;
}

constexpr Choice<Part> kOptNames[] = {
    {"embed_tokens", Part::token_embedding},
    {"embed_positions", Part::position_embedding},
    {"final_layer_norm", Part::final_norm},
    {"lm_head", Part::head},
    {"self_attn_layer_norm", Part::attention_norm},
    {"self_attn.q_proj self_attn.k_proj self_attn.v_proj", Part::query_key_value},
    {"self_attn.out_proj", Part::attention_output},
    {"final_layer_norm", Part::mlp_norm},
    {"fc1", Part::mlp_in},
    {"fc2", Part::mlp_out}};

std::vector<StoredTensor> opt_tensors(const Weight& weight, const GptConfig& config) {
  std::vector<StoredTensor> tensors = named_tensors(weight, config, "layers.", kOptNames);
  if (weight.part == Part::position_embedding) {
    tensors[0].file_rows = tensors[0].rows + kUnusedPositions;
    tensors[0].file_begin = kUnusedPositions;
  }
  return tensors;
}

}  // namespace

const ModelFamily kOpt{
    .type = "opt",
    .layout = {.prefix = "model.decoder.",
               .head = "lm_head.weight",
               .layers = "layers.",
               .tensors_of = opt_tensors},
    .read_config = read_opt,
    .refusal = [](const GptConfig&) { return std::string("models are written as GPT-2"); },
    .config_json = [](const GptConfig&) { return Json(); }};

}  // namespace headlight
