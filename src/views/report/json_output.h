#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "headlight/text/tokenizer.h"
#include "heads/head_json.h"

namespace headlight {

// What --json promises: one object, on one line of stdout. Bytes that are not UTF-8 (in a path, for
// example) become U+FFFD, which JSON can hold.
void print_json(const Json& json);

// null where there is no text, as of a caution.
Json text_or_null(const std::string& text);

// Tokenizer::token_label, and "<|209|>" for an id that the model alone has: its vocabulary may be
// rounded up.
std::string label_of_id(std::int32_t id, const Tokenizer& tokenizer);

// The same as people see it, of one or of several, and in single quotes.
std::string shown_token(std::int32_t id, const Tokenizer& tokenizer);
std::vector<std::string> shown_tokens(std::span<const std::int32_t> ids,
                                      const Tokenizer& tokenizer);
std::string quoted_label(std::int32_t id, const Tokenizer& tokenizer);

// {id, token}
Json token_json(std::int32_t id, const Tokenizer& tokenizer);

}  // namespace headlight
