#pragma once

#include <string>

#include "headlight/interpret/scores/head_verdict.h"

namespace headlight {

// Returns the text of a language.
inline std::string in_language(Language language, const std::string& english,
                               const std::string& korean) {
  return language == Language::korean ? korean : english;
}

}  // namespace headlight
