#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tokenizers/tokenizer.h"
#include "tokenizers/aligned_text.h"

namespace headlight {

inline ByteRange range_of(const AlignedText& text) {
  return {text.offset(0), text.offset(text.size())};
}

// The texts that the tokens of a vocabulary represent.
struct TokenTexts {
  std::span<const std::string> texts;                       // [V]
  const std::array<std::int32_t, 256>* byte_ids = nullptr;  // ids of single bytes, if there are any
  std::int32_t unknown = -1;
  std::string_view mark = {};      // begins the texts of tokens that continue a word
  bool has_unknown_bytes = false;  // an unknown token stands for a byte, not for characters

  // Appends the bytes of each token of a piece. The unknown token represents all bytes
  // up to the next token's.
  void append_ranges(const AlignedText& piece, std::span<const std::int32_t> ids,
                     std::vector<ByteRange>& ranges) const;

 private:
  std::size_t unknown_length(std::string_view rest) const;
  std::size_t length_at(std::string_view piece, std::size_t begin, std::int32_t id) const;
};

}  // namespace headlight
