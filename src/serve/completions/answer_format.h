#pragma once

#include <memory>
#include <string>

#include "headlight/generate/grammar.h"
#include "serve/request/fields.h"

namespace headlight::serve {

// Required format of an answer's text.
struct AnswerFormat {
  Json schema = {};       // of a JSON value; null: none
  std::string gbnf = {};  // grammar; "": none

  bool is_any() const { return schema.is_null() && gbnf.empty(); }
};

// Reads the required format, in the words of OpenAI, llama.cpp or vLLM. Throws Error about a
// member with another form.
AnswerFormat read_format(Fields& fields);

// Returns the grammar of texts of a format; null: any text.
std::shared_ptr<const Grammar> grammar_of(const AnswerFormat& format, const WorkBudget& budget);

}  // namespace headlight::serve
