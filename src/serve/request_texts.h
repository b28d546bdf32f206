#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/fields.h"
#include "text/special_names.h"
#include "text/text_encoder.h"

namespace headlight::serve {

// Turns the texts of one request into tokens. Names of special tokens in them are plain text unless
// the member `special_tokens` of the body is true.
class RequestTexts {
 public:
  // `names` counts those of the tokenizer. All must outlive this. Throws Error about
  // "special_tokens".
  RequestTexts(Fields& fields, const Tokenizer& tokenizer, const SpecialNameCount& names);

  Fields& fields() const { return fields_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  bool reads_special() const { return encoder_.has_value(); }
  // As Tokenizer::encode() and encode_prompt(). `about`: the member that has the text.
  std::vector<std::int32_t> encode(std::string_view text, const std::string& about);
  std::vector<std::int32_t> encode_prompt(std::string_view text, const std::string& about);
  // One line for every text with the name of a special token that was read as plain text.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void warn(std::string_view text, const std::string& about);

  Fields& fields_;
  const Tokenizer& tokenizer_;
  const SpecialNameCount& names_;
  std::optional<TextEncoder> encoder_;  // reads special tokens
  std::vector<std::string> warnings_;
};

}  // namespace headlight::serve
