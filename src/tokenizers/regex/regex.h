#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace headlight {

// Byte range begin ... end - 1 of a text.
struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// A regular expression of a tokenizer file, matched by PCRE2 with the character classes of
// kUnicodeVersion, independent of PCRE2's own version. Copies share the compiled code.
class Regex {
 public:
  // Throws Error, one line that begins with `where`, for an invalid expression and for one that has
  // another meaning in Oniguruma, which Hugging Face `tokenizers` uses. Without PCRE2 in the build,
  // throws for every expression.
  Regex(std::string_view expression, std::string_view where);

  // Returns the matches in order; an empty match never starts where the last one ended. Matches
  // contain no invalid bytes. Throws Error if matching needs too much memory, or more steps than a
  // limit proportional to the length of the text.
  std::vector<TextSpan> matches(std::string_view text) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace headlight
