#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace headlight {

// Parses JSON from outside. Throws Error, one line that begins with `name`, when the text is not
// UTF-8, is not JSON, nests deeper than 64 levels, or an object has a key twice.
nlohmann::json parse_checked_json(std::string_view text, std::string_view name);

// `text` in quotes for a message: control characters escaped, a long text cut.
std::string quoted_text(std::string_view text);

// The value of `key`. Throws Error naming `where` and the key when `object` is no object or lacks
// it.
const nlohmann::json& json_member(const nlohmann::json& object, const std::string& key,
                                  std::string_view where);

// The same, and the value must be a string, else Error.
std::string json_string(const nlohmann::json& object, const std::string& key,
                        std::string_view where);

}  // namespace headlight
