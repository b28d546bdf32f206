#pragma once

#include <array>
#include <unordered_map>

#include "headlight/text/bpe_tokenizer.h"
#include "text/bpe_merger.h"

namespace headlight {

// What a BpeTokenizer is built from, checked, and what it looks up.
struct BpeState {
  // Throws what the constructor of BpeTokenizer throws.
  BpeState(BpeVocabulary vocabulary, std::string_view name);

  BpeVocabulary vocabulary;
  MergeTable merges;
  std::array<std::int32_t, 256> byte_ids{};
  std::vector<SpecialToken> specials;      // longer names first
  std::array<bool, 256> begins_special{};  // whether a special token's name begins with this byte
  std::int32_t end_of_text = -1;

 private:
  using TokenIds = std::unordered_map<std::string_view, std::int32_t>;

  void check_special_tokens(const TokenIds& ids, std::string_view name) const;
  void fill_byte_ids(const TokenIds& ids, std::string_view name);
  void fill_merges(const TokenIds& ids, std::string_view name);
};

}  // namespace headlight
