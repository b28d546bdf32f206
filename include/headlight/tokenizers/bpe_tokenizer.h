#pragma once

#include <memory>

#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

struct BpeState;

// A merge joins two neighbouring tokens into the token of their joined bytes.
struct BpeMerge {
  std::int32_t left = 0;
  std::int32_t right = 0;

  bool operator==(const BpeMerge&) const = default;
};

struct SpecialToken {
  std::string name;
  std::int32_t id = 0;
};

// Definition of a byte-level BPE tokenizer.
struct BpeVocabulary {
  std::vector<std::string> tokens;    // [V], the bytes of each id; "" for special tokens
  std::vector<BpeMerge> merges;       // by rank: lower ranks are merged first
  std::vector<SpecialToken> special;  // must include <|endoftext|>
};

// GPT-2's byte-level byte-pair encoding. Text is cut into pieces (bpe_pattern.h), whose bytes are
// the initial tokens. The neighbours whose merge has the lowest rank become one token, the leftmost
// first, until no merge is left. Sennrich et al., "Neural Machine Translation of Rare Words with
// Subword Units", 2016; Radford et al., 2019. Gives the same ids as Hugging Face `tokenizers`.
// Every text can be encoded. Copies share the vocabulary.
class BpeTokenizer final : public Tokenizer {
 public:
  // Throws Error, one line that begins with `name`, if a token is repeated or empty, one of the 256
  // bytes has no token, a merge has invalid ids or no resulting token, or <|endoftext|> is missing.
  explicit BpeTokenizer(BpeVocabulary vocabulary, std::string_view name = "[BpeTokenizer]");

  std::string_view kind() const override { return "bpe"; }
  Index vocab_size() const override;
  std::string token_bytes(std::int32_t id) const override;
  std::string_view special_name(std::int32_t id) const override;

  // Invalid bytes count as symbols, and decode_bytes() restores them. The leftmost name of a
  // special token wins, then the longest.
  std::vector<std::int32_t> encode_bytes(std::string_view bytes,
                                         const EncodeOptions& options = {}) const override;

  const BpeVocabulary& vocabulary() const;

 private:
  explicit BpeTokenizer(std::shared_ptr<const BpeState> state);

  std::shared_ptr<const BpeState> state_;
};

}  // namespace headlight
