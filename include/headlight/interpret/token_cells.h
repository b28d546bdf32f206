#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/tensor/tensor.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Unit of text in a cell of an attention map.
enum class TextUnit { token, character, word };

template <>
inline constexpr auto kChoices<TextUnit> = std::to_array<Choice<TextUnit>>(
    {{"token", TextUnit::token}, {"char", TextUnit::character}, {"word", TextUnit::word}});

// Consecutive tokens that share a cell.
struct TokenCell {
  Index begin = 0;              // first token
  Index end = 0;                // one past the last token
  std::string label = {};       // as Tokenizer::token_label, of the joined bytes
  bool is_special = false;      // a special token
  bool is_separator = false;    // white space, or a special token that ends a text before this one
  bool is_punctuation = false;  // punctuation only, apart from blanks
};

// Groups tokens into cells. A cell ends where a token and a unit of the text end at the same byte:
// the bytes of a syllable share a cell, and a token of several characters is never split. A special
// token is a cell of its own.
//
// A character includes its combining marks, a Hangul syllable its conjoining letters. A word is a
// run of letters, digits and marks, with the blanks before it; ' and - between letters and . and ,
// between digits belong to it. Every Han, Hiragana or Katakana character is a word, because their
// texts have no blanks. A run of one punctuation mark and a run of line ends are words.
//
// Throws Error for ids out of range.
std::vector<TokenCell> token_cells(const Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                                   TextUnit unit);

// Returns the cell of each token, [T].
std::vector<Index> cells_of_tokens(const std::vector<TokenCell>& cells);

// Merges weights [H, T, T] float32 of tokens into weights [H, U, U] of cells: the mean over the
// queries of a cell of the sum over the keys of a cell. Rows that sum to 1 keep their sum. Throws
// Error unless the cells cover T tokens.
Tensor merged_weights(const Tensor& weights, const std::vector<TokenCell>& cells);

}  // namespace headlight
