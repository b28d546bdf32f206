#pragma once

#include <string>
#include <vector>

#include "headlight/tokenizers/chat_templates.h"

namespace headlight {

// Names of the chat templates that are part of the program: chatml, gemma, hermes (ChatML with
// tools), llama2, llama3, mistral, phi3, zephyr.
std::vector<std::string> chat_template_names();

// Returns the Jinja source of a template by name, first of the model's `own`, else the contents of
// the file. Throws Error about "chat_template" if there is neither.
std::string read_chat_template(const std::string& name_or_file, const ChatTemplates& own = {});

}  // namespace headlight
