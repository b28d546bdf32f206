#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "headlight/tokenizers/tokenizer.h"
#include "tokenizers/pipeline/normalizer.h"

// Parts of a tokenizer.json that several readers and writers share.
namespace headlight {

// A key of tokenizer_config.json. A parsed tokenizer.json has it, too, if names of special tokens
// are always plain text.
inline constexpr const char* kSplitSpecial = "split_special_tokens";

// True for a step of this type.
bool is_step(const Json& json, std::string_view type);

// True if the key is missing or null.
bool is_null(const Json& object, std::string_view key);

// Returns a boolean member; `fallback` if the key is missing. Messages begin with "WHEREKEY: ".
bool json_flag(const Json& object, std::string_view key, bool fallback, std::string_view where);

// Reads a merge: "LEFT RIGHT" or ["LEFT", "RIGHT"]. Throws Error that begins with `where` for
// others.
std::pair<std::string_view, std::string_view> merge_pair(const Json& merge, std::string_view where);

// Returns the name of the token of a byte: "<0x41>".
std::string byte_token(std::size_t byte);
// True for the name of the token of a byte, with digits of either case.
bool is_byte_token(std::string_view name);

// Returns an entry of added_tokens. The tokens are found in the text before any other step.
Json added_token_json(std::int32_t id, std::string_view content, bool special);

// Returns the step that maps bytes to characters. `cuts`: it also cuts with GPT-2's pattern.
Json byte_level_json(bool cuts);

// A special token and its id.
using NamedId = std::pair<std::string, std::int32_t>;

// Returns the step that puts a special token before a text and, if given, another behind it.
Json template_json(const NamedId& first, const std::optional<NamedId>& last = {});

// Builds the tokenizer of a tokenizer.json as parse_tokenizer_json() does: `root` is the parsed
// `text`.
std::unique_ptr<Tokenizer> read_tokenizer_json(const Json& root, std::string_view text,
                                               std::string_view name, std::string_view end_name);

// True if names of special tokens are always plain text; see kSplitSpecial.
bool splits_special_tokens(const Tokenizer& tokenizer);

// Returns a tokenizer.json with the contents of GPT-2's vocab.json and merges.txt, and no added
// tokens. Throws Error that begins with `name` for text that is not JSON.
Json gpt2_tokenizer_json(std::string_view vocab_json, std::string_view merges_txt,
                         std::string_view name);

// Builds the tokenizer of such a file as parse_gpt2_vocabulary() does. Its end-of-text token is
// added unless it is in added_tokens. `splits_special`: see kSplitSpecial.
std::unique_ptr<Tokenizer> read_gpt2_json(Json root, std::string_view name,
                                          std::string_view end_name, bool splits_special = false);

}  // namespace headlight
