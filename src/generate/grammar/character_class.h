#pragma once

#include <vector>

#include "generate/grammar/program.h"

namespace headlight {

inline constexpr char32_t kLastCharacter = 0x10FFFF;

struct CharacterRange {
  char32_t first = 0;
  char32_t last = 0;
};

// Returns the ranges in order, without overlaps.
std::vector<CharacterRange> merged_ranges(std::vector<CharacterRange> ranges);

// Returns the characters outside ranges that are in order, without overlaps.
std::vector<CharacterRange> other_characters(const std::vector<CharacterRange>& ranges);

// Returns the part of a network that reads the UTF-8 of one character in the ranges; with
// `negated`, of one character outside them. Never reads surrogates.
GrammarFragment character_class(ProgramBuilder& builder, std::vector<CharacterRange> ranges,
                                bool negated);

}  // namespace headlight
