#pragma once

#include <vector>

#include "generate/grammar/program.h"

namespace headlight {

struct CharacterRange {
  char32_t first = 0;
  char32_t last = 0;
};

// Returns the part of a network that reads the UTF-8 of one character in the ranges; with
// `negated`, of one character outside them. Never reads surrogates.
GrammarFragment character_class(ProgramBuilder& builder, std::vector<CharacterRange> ranges,
                                bool negated);

}  // namespace headlight
