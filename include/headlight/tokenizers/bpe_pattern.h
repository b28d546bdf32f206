#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace headlight {

// Byte-level BPE never merges across pieces. The pieces are the matches of GPT-2's pattern
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019) with the classes of
// Unicode 16: contractions, words, numbers and symbols, each with the blank before it, and white
// space. White space before other text leaves its last character to the next piece.

// Returns the number of bytes of the first piece of `text`, which must not be empty. Invalid bytes
// count as symbols.
std::size_t bpe_piece_length(std::string_view text);

// Patterns of other models, as their tokenizer files write them.
inline constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Function that returns the number of bytes of the first piece of a text that is not empty.
using PieceLength = std::size_t (*)(std::string_view text);

// Returns the piece function of a regular expression of a tokenizer file. Supports the patterns of
// GPT-2, Llama 3 and Qwen 2; null for any other.
PieceLength known_piece_pattern(std::string_view regex);

// Cuts `text` into parts of about `size` bytes without changing its pieces by GPT-2's pattern.
// Parts can be longer: a text without blanks stays in one part.
std::vector<std::string_view> split_between_pieces(std::string_view text, std::size_t size);
// Cuts only before blanks U+0020, which is safe for every known pattern.
std::vector<std::string_view> split_at_blanks(std::string_view text, std::size_t size);
// Cuts only after "\n".
std::vector<std::string_view> split_between_lines(std::string_view text, std::size_t size);

}  // namespace headlight
