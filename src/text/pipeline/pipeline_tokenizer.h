#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/text/bpe_tokenizer.h"
#include "text/bpe_model.h"
#include "text/pipeline/added_tokens.h"
#include "text/pipeline/normalizer.h"
#include "text/pipeline/pre_tokenizer.h"

namespace headlight {

// What decoding does to the first token of a text.
enum class TextStart {
  kept,        // nothing
  blank_gone,  // one blank at its beginning is left out
  marks_gone,  // all marks of blanks in it are
};

// The stages between a text and its ids, and what stands for ids.
struct PipelineParts {
  std::vector<std::string> names;  // [V], as the file writes tokens
  std::vector<std::string> texts;  // [V], what a piece or a character must be to be the token
  std::vector<std::string> bytes;  // [V], what decoding makes of it; "" for special tokens
  std::vector<bool> special;       // [V]
  std::vector<AddedToken> added;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  BpeModel model{0};  // refers to `texts`
  std::string mark;   // in the place of a blank; "": no merge reaches across the blanks before it
  TextStart text_start = TextStart::kept;
  std::string start_mark;  // for TextStart::marks_gone
  std::size_t merges = 0;
  std::int32_t end_of_text = -1;
  std::optional<std::int32_t> first;  // what texts begin with
  std::string file;                   // the tokenizer.json
};

// The tokenizer of a tokenizer.json, stage by stage as Hugging Face `tokenizers` has them: added
// tokens are cut out, the normalizer rewrites what is between them, the pre-tokenizer cuts it into
// pieces, byte-pair encoding makes tokens of each. Byte-level models, and those that fall back to
// bytes, take any bytes. Two differences are ours: bytes that are no character become U+FFFD by the
// rules of first_character(), not one for each byte of a run, and <unk> decodes to U+FFFD.
class PipelineTokenizer final : public Tokenizer {
 public:
  // The parts must fit together; see read_pipeline_tokenizer().
  explicit PipelineTokenizer(PipelineParts parts);
  PipelineTokenizer(const PipelineTokenizer&) = delete;  // its model refers to its texts
  PipelineTokenizer& operator=(const PipelineTokenizer&) = delete;

  std::string_view kind() const override { return "bpe"; }
  Index vocab_size() const override;
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string token_bytes(std::int32_t id) const override;
  std::string first_token_bytes(std::int32_t id) const override;
  std::optional<std::int32_t> unknown() const override;
  std::string_view special_name(std::int32_t id) const override;
  bool encodes_in_parts() const override { return false; }

  // Of any bytes.
  std::vector<std::int32_t> encode_bytes(std::string_view bytes,
                                         const BpeEncodeOptions& options = {}) const;

  std::size_t merge_count() const { return parts_.merges; }
  // The tokenizer.json, and whether texts begin with begin_of_text() by it.
  const std::string& file() const { return parts_.file; }
  bool file_prepends() const { return parts_.first.has_value(); }

 private:
  PipelineParts parts_;
  AddedTokenMatcher raw_tokens_;         // looked for in the text as it comes
  AddedTokenMatcher normalized_tokens_;  // and in the normalized text
};

}  // namespace headlight
