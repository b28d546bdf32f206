#pragma once

#include "cli/terminal/options.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight::cli {

// Adds --chat_template.
void add_chat_template_option(Options& options);

// Returns the template of --chat_template, else the tokenizer's; "" if there is none. Logs a
// warning if the vocabulary lacks special tokens of the given template.
ChatTemplates chat_template_option(const Options& options, const Tokenizer& tokenizer);

}  // namespace headlight::cli
