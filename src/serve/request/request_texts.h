#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/request/fields.h"
#include "text/special_names.h"
#include "text/text_encoder.h"

namespace headlight::serve {

// Encodes the texts of one request. Special-token names are plain text unless the body has
// "special_tokens": true.
class RequestTexts {
 public:
  // `names` counts the tokenizer's special-token names. All arguments must outlive this. Throws
  // Error about "special_tokens".
  RequestTexts(Fields& fields, const Tokenizer& tokenizer, const SpecialNameCount& names);

  Fields& fields() const { return fields_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  bool reads_special() const { return encoder_.has_value(); }
  // Encode as Tokenizer::encode() and encode_prompt() do. `about`: the member with the text.
  std::vector<std::int32_t> encode(std::string_view text, const std::string& about);
  std::vector<std::int32_t> encode_prompt(std::string_view text, const std::string& about);
  // Returns a line for each text in which a special-token name was read as plain text.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void warn(std::string_view text, const std::string& about);

  Fields& fields_;
  const Tokenizer& tokenizer_;
  const SpecialNameCount& names_;
  std::optional<TextEncoder> encoder_;  // set if special tokens are read
  std::vector<std::string> warnings_;
};

}  // namespace headlight::serve
