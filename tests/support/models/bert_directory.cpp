#include "support/models/bert_directory.h"
#include "support/test.h"

namespace headlight::test {
namespace {

constexpr const char* kWordPiece = R"({
  "version": "1.0", "truncation": null, "padding": null,
  "added_tokens": [
    {"id": 0, "content": "[PAD]", "special": true},
    {"id": 1, "content": "[UNK]", "special": true},
    {"id": 2, "content": "[CLS]", "special": true},
    {"id": 3, "content": "[SEP]", "special": true},
    {"id": 4, "content": "[MASK]", "special": true}],
  "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                 "strip_accents": null, "lowercase": true},
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
    "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                       "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
  "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "the": 5,
                      "cat": 6, "dog": 7, "sat": 8, "on": 9, "mat": 10, "##s": 11, ".": 12}}
})";

}  // namespace

GptConfig small_bert(bool masked_head) {
  GptConfig config{.vocab_size = 13, .block_size = 16, .n_layer = 2, .n_head = 2, .n_embd = 8};
  config.n_segment = 2;
  config.n_inner = 12;
  config.activation = Activation::gelu_erf;
  config.layer_norm_epsilon = 1e-12;
  config.norm = NormPosition::post;
  config.causal = false;
  config.embedding_norm = true;
  config.masked_head = masked_head;
  return config;
}

std::unique_ptr<Gpt> random_bert(bool masked_head, DType dtype) {
  auto model = std::make_unique<Gpt>(small_bert(masked_head), 1, dtype);
  std::uint64_t stream = 0;
  for (auto [name, tensor] : model->parameters()) {
    const double centre = tensor.rank() == 1 && name.ends_with("weight") ? 1 : 0;
    tensor.copy_from(
        random_uniform(tensor.shape(), {7, ++stream}, centre - 0.8, centre + 0.8, dtype));
  }
  return model;
}

std::unique_ptr<Tokenizer> word_piece() { return parse_tokenizer_json(kWordPiece, "t.json"); }

std::filesystem::path write_bert(const std::filesystem::path& directory, bool masked_head) {
  std::filesystem::create_directory(directory);
  write_model_files(directory, *random_bert(masked_head), *word_piece());
  return directory;
}

}  // namespace headlight::test
