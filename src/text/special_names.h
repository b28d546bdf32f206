#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/text/tokenizer.h"
#include "text/pipeline/added_tokens.h"

namespace headlight {

// The special tokens of a tokenizer, by the names that a text may have.
std::vector<AddedToken> special_tokens_of(const Tokenizer& tokenizer);

// A text cut at the names that `tokenizer` reads: the text alone unless it reads_special().
std::vector<TextSegment> special_segments(const Tokenizer& tokenizer, std::string_view text);

// Counts the names of special tokens in text that is read as plain text, so that nobody takes them
// for the tokens. Counts none where the tokenizer reads_special(). Copies share the names.
class SpecialNameCount {
 public:
  // Without those of the name `without`. The tokenizer must outlive the count.
  explicit SpecialNameCount(const Tokenizer& tokenizer, std::string_view without = {});

  void add(std::string_view text);
  // One line that begins with `where` and names the `option` that reads tokens; "": there was no
  // name.
  std::string warning(std::string_view where,
                      std::string_view option = "--special_tokens on") const;

 private:
  const Tokenizer& tokenizer_;
  std::shared_ptr<const AddedTokenMatcher> names_;
  std::map<std::int32_t, std::size_t> counts_;  // by id
};

}  // namespace headlight
