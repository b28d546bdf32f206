#pragma once

#include "cli/terminal/options.h"
#include "headlight/formats/model_directory.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight::cli {

// Adds --ids, for commands that take one text as --text.
void add_ids_option(Options& options);
// True if --text or --ids is given. Throws Error for --ids beside --text, --data or --file.
bool gives_text(const Options& options);
// Ids of --ids. Throws Error if there are none or the vocabulary lacks one.
std::vector<std::int32_t> ids_option(const Options& options, const Tokenizer& tokenizer);
// Returns `id`. Throws Error about `where` if the vocabulary lacks it.
std::int32_t checked_id(Index id, const Tokenizer& tokenizer, const std::string& where);

// Tokens of a text option; "text" also accepts --ids. Throws Error if the text is empty or not
// UTF-8.
std::vector<std::int32_t> text_tokens(const Options& options, const std::string& name,
                                      const Tokenizer& tokenizer);

// Logs the number of characters unknown to the tokenizer, if any.
void warn_about_unknown(const std::vector<std::int32_t>& tokens, const Tokenizer& tokenizer,
                        const std::string& where);

// Logs the number of special tokens that texts spell out in characters, if any.
void warn_about_special_names(const std::vector<std::string>& texts, const Tokenizer& tokenizer,
                              const std::string& where);
// Logs a warning if Hangul of the text is decomposed into single letters.
void warn_about_decomposed(const std::string& text, const std::string& where);

}  // namespace headlight::cli
