#pragma once

#include <optional>
#include <string_view>

#include "generate/grammar/text_language.h"

namespace headlight {

// Returns texts that have a format of the standard ("date", "email", "uri", ...): the forms that
// all validators accept. Returns nothing for an unknown format, which does not restrict texts.
std::optional<TextLanguage> format_language(std::string_view format);

}  // namespace headlight
