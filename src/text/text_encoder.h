#pragma once

#include <string_view>
#include <vector>

#include "headlight/text/tokenizer.h"
#include "text/added_tokens.h"

namespace headlight {

// Encodes texts as Hugging Face `tokenizers` does: names of special tokens in a text become those
// tokens. The leftmost name wins, then the longest.
class TextEncoder {
 public:
  // The tokenizer must outlive the encoder. Without `with_special`, names are plain text.
  TextEncoder(const Tokenizer& tokenizer, bool with_special);

  // Returns the ids of a text; byte-level BPE uses all threads. Byte-level BPE and byte tokenizers
  // accept any bytes. Other tokenizers throw Error for bytes that are not UTF-8.
  std::vector<std::int32_t> encode(std::string_view text) const;
  // Returns encode(text) with the first token that Tokenizer::encode_prompt() adds.
  std::vector<std::int32_t> encode_prompt(std::string_view text) const;

  // True if a text may be cut at blanks and encoded in parts: no special token contains a blank.
  bool encodes_in_parts() const;

 private:
  const Tokenizer& tokenizer_;
  bool with_special_;
  AddedTokenMatcher specials_;  // empty without `with_special`
};

}  // namespace headlight
