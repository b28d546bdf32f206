#pragma once

#include <memory>

#include "headlight/text/tokenizer.h"

namespace headlight {

struct BpeState;

// Two neighbouring tokens become the one whose bytes are theirs joined.
struct BpeMerge {
  std::int32_t left = 0;
  std::int32_t right = 0;
};

struct SpecialToken {
  std::string name;
  std::int32_t id = 0;
};

// What defines a byte-level BPE tokenizer.
struct BpeVocabulary {
  std::vector<std::string> tokens;    // [V], the bytes of each id; "" for special tokens
  std::vector<BpeMerge> merges;       // by rank: earlier ones come first
  std::vector<SpecialToken> special;  // <|endoftext|> among them
};

struct BpeEncodeOptions {
  bool read_special = false;  // names of special tokens in the text become those tokens
  bool parallel = false;      // on all threads
};

// Byte-level byte-pair encoding, as GPT-2 has it: text is cut into pieces (bpe_pattern.h); the
// bytes of each are its first tokens; then, again and again, the neighbours whose merge has the
// lowest rank become one token, the leftmost first. Sennrich et al., "Neural Machine Translation of
// Rare Words with Subword Units", 2016; Radford et al., 2019. Ids are those of Hugging Face
// `tokenizers`. No text is unknown to it. Copies share the vocabulary.
class BpeTokenizer final : public Tokenizer {
 public:
  // Throws Error, one line that begins with `name`, when a token comes twice or is empty, one of
  // the 256 bytes is no token, a merge comes twice, has ids outside the vocabulary or gives no
  // token, or <|endoftext|> is missing.
  explicit BpeTokenizer(BpeVocabulary vocabulary, std::string_view name = "[BpeTokenizer]");

  std::string_view kind() const override { return "bpe"; }
  Index vocab_size() const override;
  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string token_bytes(std::int32_t id) const override;
  std::string_view special_name(std::int32_t id) const override;

  // encode() on all threads. The same ids.
  std::vector<std::int32_t> encode_parallel(std::string_view text) const;
  // encode(), but the names of special tokens in the text become those tokens: of names that
  // overlap the leftmost, of names that begin at one place the longest.
  std::vector<std::int32_t> encode_with_special(std::string_view text) const;
  // What all of them do, for any bytes: those that are no character count as symbols, and
  // decode_bytes() gives them back.
  std::vector<std::int32_t> encode_bytes(std::string_view bytes,
                                         const BpeEncodeOptions& options = {}) const;

  const BpeVocabulary& vocabulary() const;

 private:
  explicit BpeTokenizer(std::shared_ptr<const BpeState> state);

  std::shared_ptr<const BpeState> state_;
};

}  // namespace headlight
