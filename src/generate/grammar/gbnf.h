#pragma once

#include <string>
#include <string_view>

#include "generate/grammar/program.h"

namespace headlight {

// Compiles a grammar in GBNF, the notation of llama.cpp (grammars/README.md). Throws Error with the
// line of the fault.
GrammarProgram compile_gbnf(std::string_view text);

// Returns `text` as a literal of GBNF, in quotes.
std::string gbnf_literal(std::string_view text);

}  // namespace headlight
