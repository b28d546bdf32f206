#pragma once

#include <string_view>

#include "generate/grammar/text_language.h"

namespace headlight {

// Engines differ in what `\d`, `\w`, `\s` and `.` are, and whether `$` matches before a last line
// end. `surely`: texts in which ECMAScript and Python find a match; `possibly`: one of them does.
enum class PatternMatch { surely, possibly };

// Returns the texts in which a regular expression has a match; without `^` and `$` it may be
// anywhere. Throws Error "PART cannot be expressed by a grammar" for backreferences, word limits
// and assertions other than `^(?=...)` and `^(?!...)`, and Error for faults.
TextLanguage pattern_language(std::string_view pattern, PatternMatch match = PatternMatch::surely);

}  // namespace headlight
