#pragma once

#include <string>
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
// Returns the texts that a regular expression surely matches from beginning to end.
TextLanguage whole_language(std::string_view pattern);
// Returns a grammar of these texts in GBNF. Throws Error also if there are none.
std::string pattern_grammar(std::string_view pattern);

}  // namespace headlight
