#pragma once

#include <array>
#include <unordered_map>

#include "headlight/text/bpe_tokenizer.h"
#include "text/bpe_merger.h"

namespace headlight {

// What a BpeTokenizer is built from, checked, and what it looks up.
struct BpeTokenizer::State {
  // Throws what the constructor of BpeTokenizer throws.
  State(BpeVocabulary vocabulary, std::string_view name);

  BpeVocabulary vocabulary;
  MergeTable merges;
  std::array<std::int32_t, 256> byte_ids{};
  std::vector<SpecialToken> specials;  // longer names first
  std::int32_t end_of_text = -1;

 private:
  using TokenIds = std::unordered_map<std::string_view, std::int32_t>;

  void check_special_tokens(const TokenIds& ids, std::string_view name) const;
  void fill_byte_ids(const TokenIds& ids, std::string_view name);
  void fill_merges(const TokenIds& ids, std::string_view name);
};

}  // namespace headlight
