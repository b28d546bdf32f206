#pragma once

#include "base/json.h"

// Parts of a tokenizer.json that several readers and writers share.
namespace headlight {

// The character for a blank in SentencePiece's tokens.
inline constexpr std::string_view kMark = "\u2581";

// True for a step of this type.
bool is_step(const Json& json, std::string_view type);

// True if the key is missing or null.
bool is_null(const Json& object, std::string_view key);

// Returns a boolean member; `otherwise` if the key is missing. Messages begin with "WHEREKEY: ".
bool json_flag(const Json& object, std::string_view key, bool otherwise, std::string_view where);

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

// Returns the step that puts a special token before a text.
Json template_json(std::string_view name, std::int32_t id);

}  // namespace headlight
