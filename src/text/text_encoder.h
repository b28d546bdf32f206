#pragma once

#include <string_view>
#include <vector>

#include "headlight/text/bpe_tokenizer.h"
#include "headlight/text/tokenizer.h"
#include "text/pipeline/pipeline_tokenizer.h"

namespace headlight {

// Encodes texts as Hugging Face `tokenizers` does: the names of special tokens in a text become
// those tokens, the leftmost first, of those that begin at one place the longest.
class TextEncoder {
 public:
  // The tokenizer must outlive the encoder. Without `with_special` names are plain text.
  TextEncoder(const Tokenizer& tokenizer, bool with_special);

  // The ids of a text; those of byte-level BPE on all threads. Byte-level BPE and byte
  // tokenizers take any bytes. Throws Error when another one gets bytes that are not UTF-8.
  std::vector<std::int32_t> encode(std::string_view text) const;
  // encode(text), begun as Tokenizer::encode_prompt() begins prompts.
  std::vector<std::int32_t> encode_prompt(std::string_view text) const;

  // True when a text may be cut at blanks and encoded in parts: no special token has one inside.
  bool encodes_in_parts() const;

 private:
  void append_plain(std::string_view text, std::vector<std::int32_t>& ids) const;

  const Tokenizer& tokenizer_;
  const BpeTokenizer* bpe_;            // the tokenizer, if it is that
  const PipelineTokenizer* pipeline_;  // or that
  bool with_special_;
  AddedTokenMatcher specials_;  // none without `with_special`
};

}  // namespace headlight
