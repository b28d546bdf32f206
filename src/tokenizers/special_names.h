#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tokenizers/tokenizer.h"
#include "tokenizers/added_tokens.h"
#include "tokenizers/token_ranges.h"

namespace headlight {

// Returns the special tokens of a tokenizer with their names.
std::vector<AddedToken> special_tokens_of(const Tokenizer& tokenizer);

// Returns a text without the name of the end token at its end if names are plain text there.
// Callers add that token.
std::string_view without_end_name(const Tokenizer& tokenizer, std::string_view text);

// Cuts a text at names of special tokens. Returns the text uncut unless the options read them.
std::vector<TextSegment> special_segments(const Tokenizer& tokenizer, std::string_view text,
                                          const EncodeOptions& options);

// Returns the ids of a text. Names of special tokens become their ids where the options say so;
// encode(rest, add) calls add(id, part of the text) for the ids of the text between them.
template <class Encode>
std::vector<std::int32_t> ids_of_segments(const Tokenizer& tokenizer, std::string_view text,
                                          const EncodeOptions& options, const Encode& encode) {
  std::vector<std::int32_t> ids;
  ids.reserve(text.size());
  const auto add = [&](std::int32_t id, std::string_view part) {
    ids.push_back(id);
    if (options.ranges != nullptr) {
      options.ranges->push_back(range_of(AlignedText{text}.part(part)));
    }
  };
  for (const TextSegment& segment : special_segments(tokenizer, text, options)) {
    segment.id >= 0 ? add(segment.id, segment.name) : encode(segment.text, add);
  }
  return ids;
}

// Counts names of special tokens in text that is encoded as plain text, to warn users who meant the
// tokens. Counts none if the tokenizer reads_special(). Copies share the names.
class SpecialNameCount {
 public:
  // Ignores the name `without`. The tokenizer must outlive the count.
  explicit SpecialNameCount(const Tokenizer& tokenizer, std::string_view without = {});

  void add(std::string_view text);
  // Returns one line that begins with `where` and names the `option` that reads the tokens; "" if
  // there was no name.
  std::string warning(std::string_view where,
                      std::string_view option = "--special_tokens on") const;

 private:
  const Tokenizer& tokenizer_;
  std::shared_ptr<const AddedTokenMatcher> names_;
  std::map<std::int32_t, std::size_t> counts_;  // by id
};

}  // namespace headlight
