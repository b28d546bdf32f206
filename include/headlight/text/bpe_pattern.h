#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace headlight {

// Byte-level BPE never merges across pieces. The pieces are the matches of GPT-2's pattern
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019) with the classes of
// Unicode 16: contractions, words, numbers and symbols, each with the blank before it, and white
// space, whose last character is left to the piece that follows unless that cannot take it.

// Bytes of the first piece of `text`, which must not be empty. Bytes that are no character count as
// symbols.
std::size_t bpe_piece_length(std::string_view text);

// The patterns of other models, as their tokenizer files write them.
inline constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Bytes of the first piece of a text that is not empty.
using PieceLength = std::size_t (*)(std::string_view text);

// The pieces of a regular expression as tokenizer files write it, for those that code of Headlight
// matches: GPT-2's, Llama 3's and Qwen 2's. Null for any other.
PieceLength known_piece_pattern(std::string_view regex);

// `text` in parts of about `size` bytes whose pieces by GPT-2's pattern, joined, are those of the
// whole text. A text without blanks has no such places: its parts are as long as it takes.
std::vector<std::string_view> split_between_pieces(std::string_view text, std::size_t size);
// The same with parts that begin with blanks U+0020 only: so for every known pattern.
std::vector<std::string_view> split_at_blanks(std::string_view text, std::size_t size);

}  // namespace headlight
