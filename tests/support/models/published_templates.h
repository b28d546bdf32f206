#pragma once

#include "base/json.h"
#include "support/test.h"

namespace headlight::test {

// Values of the lines of a JSON Lines file in tests/formats/chat_templates.
std::vector<Json> chat_lines(const std::string& file);

// A chat template that a model ships, with the prompts of transformers: lines of
// tests/formats/chat_templates/DIALECT.jsonl.
struct PublishedTemplate {
  std::string name;
  std::string source;
  std::vector<Json> prompts;  // "conversation" and "prompt": a text, a digest, or null
};

std::vector<PublishedTemplate> published_templates();

// Returns the source of a template.
std::string published_template(const std::string& name);

}  // namespace headlight::test
