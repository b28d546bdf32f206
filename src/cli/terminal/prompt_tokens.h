#pragma once

#include "cli/terminal/options.h"
#include "headlight/io/model_directory.h"
#include "headlight/text/tokenizer.h"

namespace headlight::cli {

// --ids, for commands that take one text as --text.
void add_ids_option(Options& options);
// True when --text or --ids gives the text. Throws Error for --ids beside --text, --data or --file.
bool gives_text(const Options& options);
// The ids of --ids. Throws Error when there is none or the vocabulary lacks one.
std::vector<std::int32_t> ids_option(const Options& options, const Tokenizer& tokenizer);
// Throws Error about `where` for an id that the vocabulary lacks.
std::int32_t checked_id(Index id, const Tokenizer& tokenizer, const std::string& where);

// The text of an option as the model reads it; of "text" also what --ids gives. Throws Error when
// it is empty or not UTF-8.
std::vector<std::int32_t> text_tokens(const Options& options, const std::string& name,
                                      const Tokenizer& tokenizer);

// The same for a model that must see all of it at once. Throws Error when its block is too short.
std::vector<std::int32_t> block_tokens(const Options& options, const std::string& name,
                                       const LoadedModel& loaded);

// One line that counts the characters which the tokenizer does not know, if there are any.
void warn_about_unknown(const std::vector<std::int32_t>& tokens, const Tokenizer& tokenizer,
                        const std::string& where);

// One line that counts the special tokens which texts spell out in characters, if there are any.
void warn_about_special_names(const std::vector<std::string>& texts, const Tokenizer& tokenizer,
                              const std::string& where);
// One line when Hangul of the text is in single letters.
void warn_about_decomposed(const std::string& text, const std::string& where);

// The token of a text, or of its number as "#42". Throws Error about `about` when the text is not
// exactly one token.
std::int32_t token_of(const std::string& text, const std::string& about,
                      const Tokenizer& tokenizer);
// The tokens of a text, or of their numbers as "#42 #7". A warning, beginning with `place`, when
// the text is one token only with a blank before it, which is easily forgotten. Throws Error about
// `about` when the text is empty.
std::vector<std::int32_t> tokens_of(const std::string& text, const std::string& about,
                                    const Tokenizer& tokenizer, const std::string& place = {});
// The token that an option names, as token_of() reads it.
std::int32_t token_option(const Options& options, const std::string& name,
                          const Tokenizer& tokenizer);

}  // namespace headlight::cli
