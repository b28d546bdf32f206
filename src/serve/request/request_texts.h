#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/request/fields.h"
#include "tokenizers/special_names.h"
#include "tokenizers/text_encoder.h"

namespace headlight::serve {

// Encodes the texts of one request. "special_tokens" says whether names of special tokens are read
// as tokens; without it, they are plain text.
class RequestTexts {
 public:
  // `names` counts the tokenizer's special-token names. All arguments must outlive this.
  // `reads_special`: without "special_tokens". Throws Error about "special_tokens".
  // `directions`: those that changes may add, ServedModel::directions.
  RequestTexts(Fields& fields, const Tokenizer& tokenizer, const SpecialNameCount& names,
               bool reads_special = false, std::vector<std::string> directions = {})
      : fields_(fields), tokenizer_(tokenizer), names_(names), directions_(std::move(directions)) {
    if (fields.boolean("special_tokens", reads_special)) {
      encoder_.emplace(tokenizer, true);
    }
  }

  Fields& fields() const { return fields_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  bool may_add(const std::string& direction) const {
    return std::ranges::count(directions_, direction) > 0;
  }
  bool reads_special() const { return encoder_.has_value(); }
  // Encode as Tokenizer::encode() and encode_prompt() do. `about`: the member with the text.
  std::vector<std::int32_t> encode(std::string_view text, const std::string& about) {
    warn(text, about);
    fields_.budget().check();
    std::vector<std::int32_t> ids = encoder_ ? encoder_->encode(text) : tokenizer_.encode(text);
    fields_.budget().check();
    return ids;
  }
  // A part of a text: the name of a special token, or a text of the member `about`.
  struct Part {
    std::string_view text;
    std::string about = {};  // "": a name
  };
  // Returns the ids of parts as of one text.
  std::vector<std::int32_t> encode(const std::vector<Part>& parts) {
    std::string whole;
    std::vector<ByteRange> plain;
    for (const Part& part : parts) {
      whole += part.text;
      if (!part.about.empty() && !reads_special()) {
        warn(part.text, part.about);
        plain.push_back({whole.size() - part.text.size(), whole.size()});
      }
    }
    fields_.budget().check();
    std::vector<std::int32_t> ids =
        tokenizer_.encode_bytes(whole, {.read_special = true, .plain = plain});
    fields_.budget().check();
    return ids;
  }
  std::vector<std::int32_t> encode_prompt(std::string_view text, const std::string& about) {
    return tokenizer_.with_prompt_ends(encode(text, about));
  }
  // Returns a line for each text in which a special-token name was read as plain text.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void warn(std::string_view text, const std::string& about) {
    if (encoder_) {
      return;
    }
    SpecialNameCount names = names_;
    names.add(text);
    std::string line = names.warning(about, "\"special_tokens\": true");
    if (!line.empty() && std::ranges::find(warnings_, line) == warnings_.end()) {
      warnings_.push_back(std::move(line));
    }
  }

  Fields& fields_;
  const Tokenizer& tokenizer_;
  const SpecialNameCount& names_;
  std::optional<TextEncoder> encoder_;  // set if special tokens are read
  std::vector<std::string> directions_;
  std::vector<std::string> warnings_;
};

}  // namespace headlight::serve
