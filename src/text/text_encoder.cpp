#include "text/text_encoder.h"

#include "text/special_names.h"

namespace headlight {

TextEncoder::TextEncoder(const Tokenizer& tokenizer, bool with_special)
    : tokenizer_(tokenizer),
      with_special_(with_special),
      specials_(with_special ? special_tokens_of(tokenizer) : std::vector<AddedToken>()) {}

bool TextEncoder::encodes_in_parts() const {
  return tokenizer_.encodes_in_parts() && !specials_.any_has_space();
}

std::vector<std::int32_t> TextEncoder::encode(std::string_view text) const {
  if (tokenizer_.kind() == "bpe") {
    return tokenizer_.encode_bytes(text, {.read_special = with_special_, .parallel = true});
  }
  // Searches with specials_, since other kinds list their special tokens again for every text.
  std::vector<std::int32_t> ids;
  for (const TextSegment& segment : specials_.split(text, true)) {
    if (segment.id >= 0) {
      ids.push_back(segment.id);
    } else {
      const std::vector<std::int32_t> more = tokenizer_.encode_bytes(segment.text);
      ids.insert(ids.end(), more.begin(), more.end());
    }
  }
  return ids;
}

std::vector<std::int32_t> TextEncoder::encode_prompt(std::string_view text) const {
  return tokenizer_.with_begin_token(encode(text));
}

}  // namespace headlight
