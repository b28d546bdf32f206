#pragma once

#include <unordered_map>

#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Position of <|endoftext|> and <|unk|>, in this order: before or after the characters, or no such
// tokens.
enum class SpecialTokens { first, last, none };

// One token per Unicode code point. <|endoftext|> is 0, <|unk|> is 1, then the characters; or the
// characters come first, as in other programs' vocabularies. A character outside the vocabulary
// encodes to <|unk|>, which decodes to U+FFFD. Without special tokens, encoding throws Error about
// the first such character.
class CharTokenizer final : public Tokenizer {
 public:
  // Character i gets id i + 2 if the special tokens are first, else i. Throws Error if a character
  // is repeated or is no Unicode character.
  explicit CharTokenizer(std::vector<char32_t> characters,
                         SpecialTokens specials = SpecialTokens::first);

  std::string_view kind() const override { return "char"; }
  Index vocab_size() const override;
  std::vector<std::int32_t> encode_bytes(std::string_view bytes,
                                         const EncodeOptions& options = {}) const override;
  std::string token_bytes(std::int32_t id) const override;
  std::optional<std::int32_t> unknown() const override;
  std::string_view special_name(std::int32_t id) const override;

 private:
  std::int32_t first_character_ = 0;           // id of characters_[0]
  std::optional<std::int32_t> first_special_;  // id of <|endoftext|>
  std::vector<char32_t> characters_;           // [V - 2], or [V] without special tokens
  std::unordered_map<char32_t, std::int32_t> ids_;
};

// Collects the code points of texts for a tokenizer that lists them in ascending order.
class CharTokenizerBuilder {
 public:
  // Adds the code points of a text. Throws Error if the text is not UTF-8.
  void feed(std::string_view text);
  CharTokenizer finish() const;

 private:
  std::vector<bool> seen_;  // by code point, up to the highest
};

// Builds the tokenizer of one text.
CharTokenizer build_char_tokenizer(std::string_view corpus);

}  // namespace headlight
