#include "formats/chat_template/tool_parameter.h"
#include "generate/grammar/gbnf.h"
#include "generate/grammar/grammar_state.h"
#include "generate/grammar/regular_expression.h"
#include "generate/json_schema/json_schema_grammar.h"
#include "headlight/base/error.h"
#include "headlight/generate/grammar.h"
#include "serve/completions/call_grammar.h"

// The page never asks for answers that match a grammar, which would be a twentieth of the program.
namespace headlight {
namespace {

[[noreturn]] void refuse() {
  fail("a page has no grammars, JSON schemas and tools; use headlight serve");
}

}  // namespace

Grammar::Grammar(std::string_view) { refuse(); }

std::string json_schema_grammar(std::string_view) { refuse(); }

std::string json_schema_grammar(const Json&, std::vector<SchemaRule>, WorkBudget) { refuse(); }

std::string gbnf_literal(std::string_view) { refuse(); }

std::string pattern_grammar(std::string_view) { refuse(); }

Json parameter_value(const Json&, std::string_view, std::string_view) { refuse(); }

GrammarAutomaton::GrammarAutomaton(const GrammarProgram& program)
    : program_(&program), forgotten_memory_(0) {
  refuse();
}

std::size_t GrammarAutomaton::work() const { refuse(); }

GrammarState::GrammarState(const Grammar& grammar, std::vector<std::int32_t>)
    : automaton_(grammar.program()), state_(GrammarAutomaton::kDead) {}

std::span<const char> GrammarState::allowed(const TokenTrie&) { refuse(); }

bool GrammarState::prepare(const TokenTrie&, std::size_t) { refuse(); }

void GrammarState::advance(std::string_view) { refuse(); }

TokenTrie::TokenTrie(const Tokenizer&, Position, std::span<const std::int32_t>) { refuse(); }

namespace serve {

std::shared_ptr<const Grammar> call_grammar(const ToolsRequest&, const Json&, const WorkBudget&) {
  refuse();
}

}  // namespace serve
}  // namespace headlight
