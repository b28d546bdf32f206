#pragma once

#include "support/test.h"

namespace headlight::test {

// Vocabulary of the 256 bytes, then special tokens, then the tokens that merges give, by rank. Each
// part of a merge is a byte or an earlier merge.
inline BpeVocabulary byte_vocabulary(
    const std::vector<std::string>& special = {"<|endoftext|>"},
    const std::vector<std::pair<std::string, std::string>>& merges = {}) {
  BpeVocabulary vocabulary;
  std::vector<std::string>& tokens = vocabulary.tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.emplace_back(1, static_cast<char>(byte));
  }
  for (const std::string& name : special) {
    vocabulary.special.push_back({name, static_cast<std::int32_t>(tokens.size())});
    tokens.emplace_back();
  }
  const auto id_of = [&](const std::string& token) {
    return static_cast<std::int32_t>(std::ranges::find(tokens, token) - tokens.begin());
  };
  for (const auto& [left, right] : merges) {
    vocabulary.merges.push_back({id_of(left), id_of(right)});
    tokens.push_back(left + right);
  }
  return vocabulary;
}

}  // namespace headlight::test
