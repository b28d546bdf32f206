#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/json.h"

namespace headlight {

// Returns the text in a member of a message's part {"type": ..., "text": ...}, as OpenAI's API has
// them; null unless the part has one of the types.
inline const std::string* text_part(const Json& part, std::string_view member,
                                    std::initializer_list<std::string_view> types) {
  const Json* type = part.find("type");
  const Json* text = part.find(member);
  const bool is_text = type != nullptr && type->is_string() && text != nullptr &&
                       text->is_string() &&
                       std::ranges::find(types, std::string_view(type->text())) != types.end();
  return is_text ? &text->text() : nullptr;
}

}  // namespace headlight
