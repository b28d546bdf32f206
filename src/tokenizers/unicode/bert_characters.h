#pragma once

#include <cstdint>
#include <span>

#include "tokenizers/aligned_text.h"

// Characters of BERT's normalizer and pre-tokenizer, as in Hugging Face `tokenizers`.
namespace headlight {

// Generated tables, see bert_characters_table.cpp: the first code point and the count of each run.
struct BertCharacters {
  std::span<const std::uint32_t> removed;      // control characters
  std::span<const std::uint32_t> blank;        // become a blank
  std::span<const std::uint32_t> space;        // separate words
  std::span<const std::uint32_t> punctuation;  // are words of their own
  std::span<const std::uint32_t> marks;        // accents
  std::span<const std::uint32_t> ideographs;   // get a blank on both sides
  // First upper-case letter of each run, the count, the step, and the distance to lower case.
  std::span<const std::uint32_t> lower;
};
const BertCharacters& bert_characters();

// Returns true if a code point is in one of the tables other than `lower`.
bool is_among(std::span<const std::uint32_t> runs, char32_t code_point);

// Returns the lower case of a letter in `lower`; other characters stay as they are.
char32_t lower_case(char32_t c);

// Calls visit(letter) for each letter in `lower`, in ascending order.
template <class Visit>
void for_each_upper(const Visit& visit) {
  const std::span<const std::uint32_t> runs = bert_characters().lower;
  for (std::size_t run = 0; run < runs.size(); run += 4) {
    for (std::uint32_t i = 0; i < runs[run + 1]; ++i) {
      visit(static_cast<char32_t>(runs[run] + i * runs[run + 2]));
    }
  }
}

// Steps of BertNormalizer, in this order. Invalid bytes stay as they are.
struct BertNormalizerSteps {
  bool clean = true;       // removes control characters, replaces blanks
  bool ideographs = true;  // separates ideographs
  bool accents = true;     // decomposes and removes accents
  bool lower = true;       // lower case
};
void bert_normalize(const BertNormalizerSteps& steps, MadeText& text);

}  // namespace headlight
