#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tokenizers/bpe_tokenizer.h"
#include "tokenizers/added_tokens.h"
#include "tokenizers/bpe_model.h"
#include "tokenizers/pipeline/normalizer.h"
#include "tokenizers/pipeline/piece_model.h"
#include "tokenizers/pipeline/pre_tokenizer.h"

namespace headlight {

class Json;

// Treatment of the first token of a text by the decoder.
enum class TextStart {
  kept,           // unchanged
  blank_removed,  // one blank at its start is removed
  marks_removed,  // all blank marks in it are removed
};

// The stages between a text and its ids, and the tables of the vocabulary.
struct PipelineParts {
  std::vector<std::string> names;  // [V], as the file writes tokens
  std::vector<std::string> texts;  // [V], the piece or character that becomes the token
  std::vector<std::string> bytes;  // [V], the decoded bytes; "" for special tokens
  std::vector<bool> special;       // [V]
  std::vector<AddedToken> added;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  BpeModel model{0};                                   // refers to `texts`
  std::unique_ptr<const PieceModel> piece_model = {};  // instead of `model`; refers to `names`
  std::string continuation;  // begins the texts of tokens that continue a word
  std::string mark;          // replaces a blank; "": words are not encoded one by one
  TextStart text_start = TextStart::kept;
  std::string start_mark;  // for TextStart::marks_gone
  std::size_t merges = 0;
  std::optional<std::int32_t> end_of_text;
  std::optional<std::int32_t> first;  // the token that begins texts
  std::optional<std::int32_t> last;   // the token that ends prompts, after `first`
  std::string file;                   // the tokenizer.json
  bool splits_special = false;        // names of special tokens are always plain text
};

// The tokenizer of a tokenizer.json, with the stages of Hugging Face `tokenizers`. Added tokens are
// cut out; the normalizer rewrites the text between them; the pre-tokenizer cuts it into pieces;
// BPE, WordPiece or Unigram encodes each piece. Byte-level models and models with byte fallback
// accept any bytes. Two differences: invalid bytes become U+FFFD by the rules of first_character(),
// and <unk> decodes to U+FFFD.
class PipelineTokenizer final : public Tokenizer {
 public:
  // The parts must be consistent; see read_pipeline_tokenizer().
  explicit PipelineTokenizer(PipelineParts parts);
  PipelineTokenizer(const PipelineTokenizer&) = delete;  // the model refers to the texts
  PipelineTokenizer& operator=(const PipelineTokenizer&) = delete;

  std::string_view kind() const override {
    return parts_.piece_model ? parts_.piece_model->kind() : "bpe";
  }
  Index vocab_size() const override;
  std::string token_bytes(std::int32_t id) const override;
  std::string first_token_bytes(std::int32_t id) const override;
  std::optional<std::int32_t> unknown() const override;
  std::string_view special_name(std::int32_t id) const override;
  bool encodes_in_parts() const override { return false; }

  // Encodes any bytes.
  std::vector<std::int32_t> encode_bytes(std::string_view bytes,
                                         const EncodeOptions& options = {}) const override;

  std::size_t merge_count() const { return parts_.merges; }
  const std::vector<AddedToken>& added_tokens() const { return parts_.added; }
  bool splits_special() const { return parts_.splits_special; }
  // The text of the tokenizer.json, and whether it prepends begin_of_text() to texts.
  const std::string& file() const { return parts_.file; }
  bool file_prepends() const { return parts_.first.has_value(); }

 private:
  PipelineParts parts_;
  AddedTokenMatcher raw_tokens_;         // searched for in the original text
  AddedTokenMatcher normalized_tokens_;  // searched for in the normalized text
};

// Builds the tokenizer of a tokenizer.json: `root` is the parsed `file`. `end_name` is the
// end-of-text token; "": the first of the usual names that the file has. Throws Error, one line
// that begins with `name` and names the key, for a stage that changes ids and is not supported.
std::unique_ptr<Tokenizer> read_pipeline_tokenizer(const Json& root, std::string_view file,
                                                   std::string_view end_name,
                                                   std::string_view name);

}  // namespace headlight
