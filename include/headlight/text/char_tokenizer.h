#pragma once

#include <unordered_map>

#include "headlight/text/tokenizer.h"

namespace headlight {

// Where <|endoftext|> and <|unk|> stand, in this order: before the characters or after them.
enum class SpecialTokens { first, last };

// One token per Unicode code point: <|endoftext|> is 0, <|unk|> is 1, the characters follow; or the
// characters come first, as in other people's vocabularies. A character that the vocabulary lacks
// encodes to <|unk|>, which decodes to U+FFFD.
class CharTokenizer final : public Tokenizer {
 public:
  // Character i gets id i + 2, or i when the special tokens come last. Throws Error when one comes
  // twice or is not a Unicode character.
  explicit CharTokenizer(std::vector<char32_t> characters,
                         SpecialTokens place = SpecialTokens::first);

  std::string_view kind() const override { return "char"; }
  Index vocab_size() const override;
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string token_bytes(std::int32_t id) const override;
  std::optional<std::int32_t> unknown() const override { return first_special_ + 1; }
  std::string_view special_name(std::int32_t id) const override;

 private:
  std::int32_t first_character_ = 0;  // id
  std::int32_t first_special_ = 0;    // id
  std::vector<char32_t> characters_;  // [V - 2]
  std::unordered_map<char32_t, std::int32_t> ids_;
};

// Collects the code points of texts; the tokenizer has them in ascending order.
class CharTokenizerBuilder {
 public:
  // Throws Error when the text is not UTF-8.
  void feed(std::string_view text);
  CharTokenizer finish() const;

 private:
  std::vector<bool> seen_;  // by code point, up to the highest
};

// That of one text.
CharTokenizer build_char_tokenizer(std::string_view corpus);

}  // namespace headlight
