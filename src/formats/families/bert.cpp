#include "formats/families/families.h"
#include "headlight/base/error.h"

// BERT (Devlin et al., arXiv 1810.04805): attention to both sides, norms after the additions and
// after the embeddings, and a head that predicts masked tokens. Every token gets segment 0. The
// pooler and the head of next-sentence prediction are ignored.
namespace headlight {
namespace {

GptConfig read_bert(const ConfigReader& reader) {
  GptConfig config;
  config.vocab_size = reader.size("vocab_size", 30522);
  config.block_size = reader.size("max_position_embeddings", 512);
  config.n_embd = reader.size("hidden_size", 768);
  config.n_layer = reader.size("num_hidden_layers", 12, 1, kMostLayers);
  config.n_head = reader.size("num_attention_heads", 12);
  config.n_inner = reader.size("intermediate_size", 3072);
  config.n_segment = reader.size("type_vocab_size", 2);
  config.activation = read_activation(reader, "hidden_act", "gelu");
  config.attention_dropout = reader.number("attention_probs_dropout_prob", 0.1);
  config.residual_dropout = reader.number("hidden_dropout_prob", 0.1);
  config.embedding_dropout = config.residual_dropout;
  config.layer_norm_epsilon = reader.number("layer_norm_eps", 1e-12);
  config.tie_weights = reader.boolean("tie_word_embeddings", true);
  config.norm = NormPosition::post;
  config.causal = false;
  config.embedding_norm = true;
  config.masked_head = true;  // unless the file lacks its weights
  reader.require_default("is_decoder", false);
  reader.require_default("add_cross_attention", false);
  const std::string positions = reader.text("position_embedding_type", "absolute");
  require_value(positions == "absolute", "position_embedding_type", "expected absolute, got '",
                positions, "'");
  return config;
}

std::string refusal_of_bert(const GptConfig& config) {
  GptConfig plain = config;
  plain.norm = NormPosition::pre;
  plain.embedding_norm = false;
  const bool has_bert_norms = config.norm == NormPosition::post && config.embedding_norm &&
                              config.residual_dropout == config.embedding_dropout;
  return first_refusal(
      {{true, kGpt2.refusal(plain)},
       {!config.bias || config.n_segment == 0 || !has_bert_norms,
        "these norms, biases or segments cannot be expressed: BERT has norms after the embeddings "
        "and additions, all biases, and segments"}});
}

Json bert_json(const GptConfig& config) {
  return {{"architectures", {config.masked_head ? "BertForMaskedLM" : "BertModel"}},
          {"model_type", "bert"},
          {"max_position_embeddings", config.block_size},
          {"hidden_size", config.n_embd},
          {"num_hidden_layers", config.n_layer},
          {"num_attention_heads", config.n_head},
          {"intermediate_size", *block_plan(config, 0).mlp_width},
          {"type_vocab_size", config.n_segment},
          {"hidden_act", name_of(config.activation)},
          {"attention_probs_dropout_prob", config.attention_dropout},
          {"hidden_dropout_prob", config.residual_dropout},
          {"layer_norm_eps", config.layer_norm_epsilon}};
}

constexpr Choice<Part> kBertNames[] = {
    {"embeddings.word_embeddings", Part::token_embedding},
    {"embeddings.position_embeddings", Part::position_embedding},
    {"embeddings.token_type_embeddings", Part::segment_embedding},
    {"embeddings.LayerNorm", Part::embedding_norm},
    {"attention.self.query attention.self.key attention.self.value", Part::query_key_value},
    {"attention.output.dense", Part::attention_output},
    {"attention.output.LayerNorm", Part::attention_norm},
    {"intermediate.dense", Part::mlp_in},
    {"output.dense", Part::mlp_out},
    {"output.LayerNorm", Part::mlp_norm},
    {"cls.predictions.transform.dense", Part::head_transform},
    {"cls.predictions.transform.LayerNorm", Part::head_norm},
    {"cls.predictions.decoder", Part::head}};

std::vector<StoredTensor> bert_tensors(const Weight& weight, const GptConfig& config) {
  if (weight.part == Part::head && weight.is_bias) {
    // Tied models store only the first of these, their common value.
    const bool is_shared = config.tie_weights;
    return {{.name = is_shared ? "cls.predictions.bias" : "cls.predictions.decoder.bias",
             .rows = weight.shape[0]}};
  }
  return named_tensors(weight, config, "encoder.layer.", kBertNames);
}

}  // namespace

const ModelFamily kBert{.type = "bert",
                        .layout = {.prefix = "bert.",
                                   .head = "cls.predictions.decoder.weight",
                                   .head_names = "cls.",
                                   .buffers = {"embeddings.position_ids"},
                                   .layers = "encoder.layer.",
                                   .tensors_of = bert_tensors,
                                   .old_norm_names = true},
                        .read_config = read_bert,
                        .refusal = refusal_of_bert,
                        .config_json = bert_json,
                        .causal = false};

}  // namespace headlight
