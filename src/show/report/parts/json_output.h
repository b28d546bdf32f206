#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "headlight/interpret/token_cells.h"
#include "headlight/nn/token_distribution.h"
#include "headlight/tokenizers/tokenizer.h"
#include "interpret/head_json.h"

namespace headlight {

// Writes one JSON object as one line on stdout, as --json promises. Bytes that are not UTF-8 (in a
// path, for example) become U+FFFD, and control characters that JSON may hold (U+007F to U+009F)
// escapes, since terminals obey them.
void print_json(const Json& json);
// Returns that line.
std::string json_line(const Json& json);

// Returns null for an empty text.
Json text_or_null(const std::string& text);

// Returns Tokenizer::token_label, or "<|209|>" for an id beyond the tokenizer's vocabulary: the
// model's vocabulary may be rounded up.
std::string label_of_id(std::int32_t id, const Tokenizer& tokenizer);

// Return labels for display; quoted_label adds single quotes.
std::string shown_token(std::int32_t id, const Tokenizer& tokenizer);
std::vector<std::string> shown_tokens(std::span<const std::int32_t> ids,
                                      const Tokenizer& tokenizer);
// Returns the cells of the characters of a text; ids that the tokenizer lacks have one each.
std::vector<TokenCell> character_cells(std::span<const std::int32_t> ids,
                                       const Tokenizer& tokenizer);
// Returns the label of a cell of these ids.
std::string shown_cell(const TokenCell& cell, std::span<const std::int32_t> ids,
                       const Tokenizer& tokenizer);
std::string quoted_label(std::int32_t id, const Tokenizer& tokenizer);

// Returns {"id": ..., "token": label_of_id}.
Json token_json(std::int32_t id, const Tokenizer& tokenizer);
// Returns [{"id": ..., "token": label_of_id, "probability": ...}].
Json likeliest_json(const std::vector<TokenLogProbability>& tokens, const Tokenizer& tokenizer);

}  // namespace headlight
