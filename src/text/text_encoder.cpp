#include "text/text_encoder.h"

#include "text/special_names.h"

namespace headlight {

TextEncoder::TextEncoder(const Tokenizer& tokenizer, bool with_special)
    : tokenizer_(tokenizer),
      bpe_(dynamic_cast<const BpeTokenizer*>(&tokenizer)),
      pipeline_(dynamic_cast<const PipelineTokenizer*>(&tokenizer)),
      with_special_(with_special),
      specials_(with_special ? special_tokens_of(tokenizer) : std::vector<AddedToken>()) {}

bool TextEncoder::encodes_in_parts() const {
  return tokenizer_.encodes_in_parts() && !specials_.any_has_space();
}

std::vector<std::int32_t> TextEncoder::encode(std::string_view text) const {
  if (bpe_ != nullptr) {
    return bpe_->encode_bytes(text, {.read_special = with_special_, .parallel = true});
  }
  if (pipeline_ != nullptr) {
    return pipeline_->encode_bytes(text, {.read_special = with_special_, .parallel = true});
  }
  std::vector<std::int32_t> ids;
  for (const TextSegment& segment : specials_.split(text, true)) {
    if (segment.id >= 0) {
      ids.push_back(segment.id);
    } else {
      append_plain(segment.text, ids);
    }
  }
  return ids;
}

std::vector<std::int32_t> TextEncoder::encode_prompt(std::string_view text) const {
  return tokenizer_.begun(encode(text));
}

void TextEncoder::append_plain(std::string_view text, std::vector<std::int32_t>& ids) const {
  if (tokenizer_.kind() == "byte") {
    for (const char c : text) {
      ids.push_back(static_cast<std::uint8_t>(c));
    }
    return;
  }
  const std::vector<std::int32_t> more = tokenizer_.encode(text);
  ids.insert(ids.end(), more.begin(), more.end());
}

}  // namespace headlight
