#pragma once

#include <optional>
#include <string>

#include "base/json.h"

namespace headlight {

// Returns the joined texts of a message's parts, [{"type": "text", "text": ...}], as OpenAI's API
// has them; nothing if a part is no text.
inline std::optional<std::string> joined_text_parts(const Json& parts) {
  std::string text;
  for (const Json& part : parts) {
    const Json* type = part.find("type");
    const Json* piece = part.find("text");
    if (type == nullptr || *type != Json("text") || piece == nullptr || !piece->is_string()) {
      return std::nullopt;
    }
    text += piece->text();
  }
  return text;
}

}  // namespace headlight
