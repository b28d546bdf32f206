#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "headlight/tokenizers/tokenizer.h"
#include "tokenizers/special_names.h"

namespace headlight {

// Encodes texts as Hugging Face `tokenizers` does: names of special tokens in a text become those
// tokens. The leftmost name wins, then the longest.
class TextEncoder {
 public:
  // The tokenizer must outlive the encoder. Without `with_special`, names are plain text.
  TextEncoder(const Tokenizer& tokenizer, bool with_special)
      : tokenizer_(tokenizer),
        with_special_(with_special),
        specials_(with_special ? special_tokens_of(tokenizer) : std::vector<AddedToken>()) {}

  // Returns the ids of a text; byte-level BPE uses all threads. Byte-level BPE and byte tokenizers
  // accept any bytes. Other tokenizers throw Error for bytes that are not UTF-8.
  std::vector<std::int32_t> encode(std::string_view text) const {
    const std::string_view kind = tokenizer_.kind();
    if (!with_special_ || (kind != "char" && kind != "byte")) {
      return tokenizer_.encode_bytes(text, {.read_special = with_special_, .parallel = true});
    }
    // Searches with specials_, since other kinds list their special tokens again for every text.
    std::vector<std::int32_t> ids;
    for (const TextSegment& segment : specials_.split(text, true)) {
      if (segment.id >= 0) {
        ids.push_back(segment.id);
        continue;
      }
      const std::vector<std::int32_t> more = tokenizer_.encode_bytes(segment.text);
      ids.insert(ids.end(), more.begin(), more.end());
    }
    return ids;
  }
  // Returns encode(text) with the tokens that Tokenizer::encode_prompt() adds.
  std::vector<std::int32_t> encode_prompt(std::string_view text) const {
    return tokenizer_.with_prompt_ends(encode(text));
  }

  // True if a text may be cut at blanks and encoded in parts: no special token contains a blank.
  bool encodes_in_parts() const {
    const auto has_space = [](const AddedToken& token) {
      return token.content.find_first_of(" \t\n\v\f\r") != std::string::npos;
    };
    return tokenizer_.encodes_in_parts() &&
           !(with_special_ && std::ranges::any_of(special_tokens_of(tokenizer_), has_space));
  }

 private:
  const Tokenizer& tokenizer_;
  bool with_special_;
  AddedTokenMatcher specials_;
};

}  // namespace headlight
