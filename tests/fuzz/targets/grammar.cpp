#include "headlight/generate/grammar.h"

#include "fuzz/harness.h"
#include "fuzz/targets.h"

namespace headlight::fuzz {

// The first byte selects the notation: GBNF, or a JSON schema, whose grammar must be valid GBNF. A
// grammar must read the text before the first zero byte in the same way each time.
void grammar(std::string_view input) {
  const bool is_schema = take_byte(input) % 2 == 1;
  const std::string_view text = take_text(input);
  std::string gbnf(input);
  if (is_schema && !accepted([&] { gbnf = json_schema_grammar(input); })) {
    return;
  }
  accepted([&] {
    const Grammar grammar(gbnf);
    const bool matches = grammar.matches(text.substr(0, 256));
    demand(grammar.matches(text.substr(0, 256)) == matches, "the grammar changes");
  });
}

}  // namespace headlight::fuzz
