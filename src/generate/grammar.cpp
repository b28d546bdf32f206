#include "headlight/generate/grammar.h"

#include "generate/grammar/automaton.h"
#include "generate/grammar/gbnf.h"
#include "generate/json_schema/json_schema_grammar.h"

namespace headlight {

Grammar::Grammar(std::string_view gbnf)
    : program_(std::make_shared<const GrammarProgram>(compile_gbnf(gbnf))) {}

bool Grammar::matches(std::string_view text) const {
  GrammarAutomaton automaton(*program_);
  GrammarAutomaton::State state = automaton.start();
  for (const char c : text) {
    state = automaton.begin_step(state);
    state = automaton.next(state, static_cast<std::uint8_t>(c));
  }
  return automaton.can_end(state);
}

std::string json_schema_grammar(std::string_view schema) {
  return json_schema_grammar(parse_json(schema, "json_schema"));
}

}  // namespace headlight
