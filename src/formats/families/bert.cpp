#include "formats/families/families.h"
#include "formats/families/layer_keys.h"
#include "headlight/base/error.h"

// BERT (Devlin et al., arXiv 1810.04805): attention to both sides, norms after the additions and
// after the embeddings, and a head that predicts masked tokens. Every token gets segment 0. The
// pooler and the head of next-sentence prediction are ignored.
namespace headlight {
namespace {

void bert(const ConfigKeys& keys, GptConfig& config) {
  keys.size("vocab_size", config.vocab_size, 30522);
  keys.size("max_position_embeddings", config.block_size, 512);
  keys.size("hidden_size", config.n_embd, 768);
  keys.size("num_hidden_layers", config.n_layer, 12, kMostLayers);
  keys.size("num_attention_heads", config.n_head, 12);
  keys.size("intermediate_size", config.n_inner, 3072);
  keys.size("type_vocab_size", config.n_segment, 2);
  keys.activation("hidden_act", config.activation, "gelu");
  keys.number("attention_probs_dropout_prob", config.attention_dropout, 0.1);
  keys.number("hidden_dropout_prob", config.residual_dropout, 0.1);
  keys.number("layer_norm_eps", config.layer_norm_epsilon, 1e-12);
  keys.boolean("tie_word_embeddings", config.tie_weights, true);
  if (!config.masked_head) {
    keys.unread("architectures", Json::array({"BertModel"}));
  }
  config.embedding_dropout = config.residual_dropout;
  config.norm = NormPosition::post;
  config.causal = false;
  config.embedding_norm = true;
  config.masked_head = true;  // unless the file lacks its weights
  keys.unwritten("is_decoder", false);
  keys.unwritten("add_cross_attention", false);
  if (keys.reader() != nullptr) {
    const std::string positions = keys.reader()->text("position_embedding_type", "absolute");
    require_value(positions == "absolute", "position_embedding_type", "expected absolute, got '",
                  positions, "'");
  }
}

constexpr PartNames kBertNames[] = {
    {Part::token_embedding, "embeddings.word_embeddings"},
    {Part::position_embedding, "embeddings.position_embeddings"},
    {Part::segment_embedding, "embeddings.token_type_embeddings"},
    {Part::embedding_norm, "embeddings.LayerNorm"},
    {Part::query_key_value, "attention.self.query attention.self.key attention.self.value"},
    {Part::attention_output, "attention.output.dense"},
    {Part::attention_norm, "attention.output.LayerNorm"},
    {Part::mlp_in, "intermediate.dense"},
    {Part::mlp_out, "output.dense"},
    {Part::mlp_norm, "output.LayerNorm"},
    {Part::head_transform, "cls.predictions.transform.dense"},
    {Part::head_norm, "cls.predictions.transform.LayerNorm"},
    {Part::head, "cls.predictions.decoder"}};

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

std::span<const ModelFamily> bert_families() {
  static const ModelFamily family{.type = "bert",
                                  .architecture = "BertForMaskedLM",
                                  .layout = {.prefix = "bert.",
                                             .head = "cls.predictions.decoder.weight",
                                             .head_names = "cls.",
                                             .buffers = {"embeddings.position_ids"},
                                             .layers = "encoder.layer.",
                                             .tensors_of = bert_tensors,
                                             .old_norm_names = true},
                                  .keys = bert};
  return {&family, 1};
}

}  // namespace headlight
