#include "serve/request/request_texts.h"

#include <algorithm>

namespace headlight::serve {

RequestTexts::RequestTexts(Fields& fields, const Tokenizer& tokenizer,
                           const SpecialNameCount& names)
    : fields_(fields), tokenizer_(tokenizer), names_(names) {
  if (fields.boolean("special_tokens", false)) {
    encoder_.emplace(tokenizer, true);
  }
}

std::vector<std::int32_t> RequestTexts::encode(std::string_view text, const std::string& about) {
  warn(text, about);
  return encoder_ ? encoder_->encode(text) : tokenizer_.encode(text);
}

std::vector<std::int32_t> RequestTexts::encode_prompt(std::string_view text,
                                                      const std::string& about) {
  warn(text, about);
  return encoder_ ? encoder_->encode_prompt(text) : tokenizer_.encode_prompt(text);
}

void RequestTexts::warn(std::string_view text, const std::string& about) {
  if (encoder_) {
    return;
  }
  SpecialNameCount names = names_;
  names.add(text);
  std::string line = names.warning(about, "\"special_tokens\": true");
  if (!line.empty() && std::find(warnings_.begin(), warnings_.end(), line) == warnings_.end()) {
    warnings_.push_back(std::move(line));
  }
}

}  // namespace headlight::serve
