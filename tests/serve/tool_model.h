#pragma once

#include "serve/running_server.h"
#include "support/models/marked_bytes.h"
#include "support/models/published_templates.h"
#include "support/test.h"

namespace headlight::test {

// Returns the "lively" model with a chat template, bytes as tokens and at most five special tokens.
inline ServedModel tool_served(const std::string& name, std::vector<std::string_view> marks) {
  ServedModel model{.name = "chat", .loaded = {}, .chat_template = published_template(name)};
  model.loaded.model = lively_model(262, 2048);
  model.loaded.tokenizer = std::make_unique<MarkedBytes>(std::move(marks));
  return model;
}

}  // namespace headlight::test
