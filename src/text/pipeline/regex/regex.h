#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

// Bytes begin ... end - 1 of a text.
struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// A regular expression of a tokenizer file, by PCRE2, with the classes of kUnicodeVersion whatever
// version PCRE2 has. Copies share what it was compiled to.
class Regex {
 public:
  // Throws Error, one line that begins with `where`, for an expression that is none, that means
  // something else to Oniguruma, with which Hugging Face `tokenizers` matches, and for any where
  // the program was built without PCRE2.
  Regex(std::string_view expression, std::string_view where);

  // The matches one after the other; an empty one never stands where the last one ended. Bytes that
  // are no character are in none. Throws Error when they take too much memory, or more steps than a
  // number that grows with the length of the text.
  std::vector<TextSpan> matches(std::string_view text) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace headlight
