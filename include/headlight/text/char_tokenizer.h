#pragma once

#include <unordered_map>

#include "headlight/text/tokenizer.h"

namespace headlight {

// One token per Unicode code point: <|endoftext|> is 0, <|unk|> is 1, the characters follow.
// A character that the vocabulary lacks encodes to <|unk|>, which decodes to U+FFFD.
class CharTokenizer final : public Tokenizer {
 public:
  // Character i gets id i + 2. Throws Error when one comes twice or is not a Unicode character.
  explicit CharTokenizer(std::vector<char32_t> characters);

  std::string_view kind() const override { return "char"; }
  Index vocab_size() const override;
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string token_bytes(std::int32_t id) const override;
  std::int32_t end_of_text() const override { return 0; }
  std::optional<std::int32_t> unknown() const override { return 1; }

 private:
  std::vector<char32_t> characters_;  // [V - 2]
  std::unordered_map<char32_t, std::int32_t> ids_;
};

// A tokenizer of the code points that occur in `corpus`, in ascending order. Throws Error when the
// corpus is not UTF-8.
CharTokenizer build_char_tokenizer(std::string_view corpus);

}  // namespace headlight
