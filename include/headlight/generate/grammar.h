#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace headlight {

struct GrammarProgram;

// A grammar that generated texts must match; see GenerateOptions::grammar. Immutable: any number of
// texts and threads may share one.
class Grammar {
 public:
  // Compiles a grammar in GBNF, the notation of llama.cpp (github.com/ggml-org/llama.cpp, file
  // grammars/README.md). The whole text must match the rule "root".
  //
  // Throws Error "grammar: line 3: ..." for a fault in the notation. Also throws for rules that are
  // undefined, defined twice or left-recursive, for a grammar that no text matches, and for one of
  // more than 1 MiB or 262,144 characters and repetitions after compilation.
  explicit Grammar(std::string_view gbnf);

  // Returns whether the whole text matches. Throws Error if the grammar can read it in too many
  // ways.
  bool matches(std::string_view text) const;

  const GrammarProgram& program() const { return *program_; }

 private:
  std::shared_ptr<const GrammarProgram> program_;
};

// Returns a grammar in GBNF. Its texts are JSON values that satisfy the JSON schema `schema`;
// {"type": "object"} gives any object. They are some of the valid values: properties come in the
// order of the schema, and further ones only if the schema says something about them. Blanks
// between values are limited, so that a model cannot repeat them for ever. Names of further
// properties have no escapes that they do not need, and a name may occur twice.
//
// Limits: maxLength and maxItems above 10,000 act as 10,000. Numbers have at most 18 digits.
//
// All keywords of draft 2020-12 and of drafts 4 to 7 that restrict values are enforced. Unknown
// keywords and formats are annotations. Throws Error "json_schema: PLACE: ..." that names what a
// grammar cannot express: see docs/generate.md.
std::string json_schema_grammar(std::string_view schema);

}  // namespace headlight
