#include "formats/families/families.h"
#include "formats/huggingface/rope_config.h"
#include "headlight/base/error.h"

// GPT-NeoX (Black et al., arXiv 2204.06745), the family of Pythia: rotary positions on a quarter of
// each head, parallel attention and MLP, and rows of queries, keys and values grouped by head.
namespace headlight {
namespace {

constexpr double kDefaultShare = 0.25;

GptConfig read_gpt_neox(const ConfigReader& reader) {
  GptConfig config;
  config.vocab_size = reader.size("vocab_size", 50432);
  config.block_size = reader.size("max_position_embeddings", 2048);
  config.n_embd = reader.size("hidden_size", 6144);
  config.n_layer = reader.size("num_hidden_layers", 44, 1, kMostLayers);
  config.n_head = reader.size("num_attention_heads", 64);
  config.n_inner = reader.size("intermediate_size", 24576);
  config.activation = read_activation(reader, "hidden_act", "gelu");
  config.attention_dropout = reader.number("attention_dropout", 0);
  const double dropout = reader.number("hidden_dropout", 0);
  config.residual_dropout = reader.number("headlight_residual_dropout", dropout);
  config.embedding_dropout = reader.number("headlight_embedding_dropout", dropout);
  config.layer_norm_epsilon = reader.number("layer_norm_eps", 1e-5);
  config.tie_weights = reader.boolean("tie_word_embeddings", false);
  config.parallel_residual = reader.boolean("use_parallel_residual", true);
  config.qkv_bias = reader.boolean("attention_bias", true);
  config.attention_output_bias = config.qkv_bias;
  config.position = PositionKind::rope;
  require_value(config.n_embd % config.n_head == 0, "num_attention_heads", "expected a divisor of ",
                config.n_embd, ", got ", config.n_head);
  config.rope = read_rope(reader, config.n_embd / config.n_head,
                          {.block_size = config.block_size,
                           .theta = "rotary_emb_base",
                           .share = "rotary_pct",
                           .default_share = kDefaultShare});
  for (const char* key : {"rope_theta", "partial_rotary_factor"}) {
    reader.find(key);  // ignored by transformers too
  }
  return config;
}

std::string refusal_of_gpt_neox(const GptConfig& config) {
  GptConfig plain = config;
  plain.position = PositionKind::learned;
  plain.parallel_residual = false;
  plain.qkv_bias.reset();
  plain.attention_output_bias.reset();
  if (const std::string why = kGpt2.refusal(plain); !why.empty()) {
    return why;
  }
  const BlockPlan block = block_plan(config, 0);
  if (!config.bias || block.qkv_bias != block.attention_output_bias) {
    return "these biases cannot be expressed: GPT-NeoX has all of them, or all except those of "
           "attention";
  }
  const bool fits = config.position == PositionKind::rope &&
                    config.rope.style == RotaryStyle::half && config.rope_local_theta == 0 &&
                    config.rope_per_layer.empty() && !config.shared_norm;
  return fits ? "" : "these positions cannot be expressed: GPT-NeoX rotates a part of each head";
}

Json gpt_neox_json(const GptConfig& config) {
  const BlockPlan block = block_plan(config, 0);
  const double share = rotary_share(config.rope, block.attention.head_width);
  Json json = rope_json(config);
  json["rope_parameters"]["partial_rotary_factor"] = share;
  if (config.residual_dropout != config.embedding_dropout) {
    json["headlight_residual_dropout"] = config.residual_dropout;
    json["headlight_embedding_dropout"] = config.embedding_dropout;
  }
  json.update(Json{{"architectures", {"GPTNeoXForCausalLM"}},
                   {"model_type", "gpt_neox"},
                   {"max_position_embeddings", config.block_size},
                   {"hidden_size", config.n_embd},
                   {"num_hidden_layers", config.n_layer},
                   {"num_attention_heads", config.n_head},
                   {"intermediate_size", *block.mlp_width},
                   {"hidden_act", name_of(config.activation)},
                   {"layer_norm_eps", config.layer_norm_epsilon},
                   {"attention_dropout", config.attention_dropout},
                   {"hidden_dropout", config.residual_dropout},
                   {"use_parallel_residual", config.parallel_residual},
                   {"attention_bias", block.qkv_bias},
                   {"rotary_emb_base", config.rope.theta},
                   {"rotary_pct", share}});
  return json;
}

constexpr Choice<Part> kNeoXNames[] = {{"embed_in", Part::token_embedding},
                                       {"final_layer_norm", Part::final_norm},
                                       {"embed_out", Part::head},
                                       {"input_layernorm", Part::attention_norm},
                                       {"attention.query_key_value", Part::query_key_value},
                                       {"attention.dense", Part::attention_output},
                                       {"post_attention_layernorm", Part::mlp_norm},
                                       {"mlp.dense_h_to_4h", Part::mlp_in},
                                       {"mlp.dense_4h_to_h", Part::mlp_out}};

std::vector<StoredTensor> gpt_neox_tensors(const Weight& weight, const GptConfig& config) {
  std::vector<StoredTensor> tensors = named_tensors(weight, config, "layers.", kNeoXNames);
  if (weight.part == Part::query_key_value) {
    tensors[0].order = {.outer = 1, .first = config.heads(weight.layer), .second = 3};
  }
  return tensors;
}

}  // namespace

const ModelFamily kGptNeoX{
    .type = "gpt_neox",
    .layout = {.prefix = "gpt_neox.",
               .head = "embed_out.weight",
               .buffers = {".attention.bias", ".attention.masked_bias", "rotary_emb.inv_freq"},
               .layers = "layers.",
               .tensors_of = gpt_neox_tensors},
    .read_config = read_gpt_neox,
    .refusal = refusal_of_gpt_neox,
    .config_json = gpt_neox_json};

}  // namespace headlight
