#pragma once

#include "support/test.h"

namespace headlight::test {

// Words as tokens. Words lose their first blank at the start of a text.
class WordTokenizer final : public Tokenizer {
 public:
  WordTokenizer() : Tokenizer(0) {}
  std::string_view kind() const override { return "char"; }
  Index vocab_size() const override { return static_cast<Index>(words_.size()); }
  std::vector<std::int32_t> encode_bytes(std::string_view, const EncodeOptions&) const override {
    return {};
  }
  std::string token_bytes(std::int32_t id) const override {
    return words_[static_cast<std::size_t>(id)];
  }
  std::string first_token_bytes(std::int32_t id) const override {
    const std::string bytes = token_bytes(id);
    return bytes.starts_with(' ') ? bytes.substr(1) : bytes;
  }

 private:
  const std::vector<std::string> words_{"", " a", "a", " ab", "b", "abc", " ", "\xC3", "\xA9x"};
};

}  // namespace headlight::test
