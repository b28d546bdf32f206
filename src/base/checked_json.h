#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace headlight {

using Json = nlohmann::json;

// Deeper objects and arrays are refused.
inline constexpr std::size_t kMaxJsonDepth = 64;

// Parses JSON from outside. Throws Error, in one line that starts with `name` (usually the path),
// for text that is not JSON in UTF-8, a key that an object holds twice or that is longer than
// 65,536 bytes, nesting deeper than kMaxJsonDepth and more than four million values. Bytes are
// counted from 0.
Json parse_json(std::string_view text, std::string_view name);

// Parses an object and hands each member over as soon as it is read, keeping only the keys: a long
// list of small members costs little memory. Refuses what parse_json refuses, text that is not an
// object, and a member of more than 65,536 values.
void parse_json_members(std::string_view text, std::string_view name,
                        const std::function<void(const std::string& key, Json& value)>& member);

// `text` in quotes for a message: control characters escaped, a long text cut.
std::string quoted_text(std::string_view text);

// The value of `key`. Throws Error naming `where` and the key when `object` is no object or lacks
// it.
const Json& json_member(const Json& object, const std::string& key, std::string_view where);

// The same, and the value must be a string, else Error.
std::string json_string(const Json& object, const std::string& key, std::string_view where);

}  // namespace headlight
