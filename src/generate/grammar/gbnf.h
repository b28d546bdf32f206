#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generate/grammar/character_class.h"
#include "generate/grammar/program.h"

namespace headlight {

// Compiles a grammar in GBNF, the notation of llama.cpp (grammars/README.md). Throws Error with the
// line of the fault.
GrammarProgram compile_gbnf(std::string_view text);

// Returns `text` as a literal of GBNF, in quotes.
std::string gbnf_literal(std::string_view text);

// Returns a class of GBNF, any one character of the ranges, without halves of surrogate pairs; ""
// if there is none.
std::string gbnf_class(const std::vector<CharacterRange>& ranges);

}  // namespace headlight
