#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

// Decodes token by token and never returns part of a character. The joined parts equal
// Tokenizer::decode of all ids.
class StreamingDecoder {
 public:
  // The tokenizer must outlive the decoder. With `goes_on`, the tokens continue a text: the first
  // word keeps its leading blank, which decoders drop at the start of a text.
  // The text has the names of the special tokens `shown`.
  explicit StreamingDecoder(const Tokenizer& tokenizer, bool continues = false,
                            std::vector<std::int32_t> shown = {})
      : tokenizer_(&tokenizer), at_start_(!continues), shown_(std::move(shown)) {}

  // Adds a token and returns the text that is complete; "" inside a character. Throws Error if the
  // id is out of range.
  std::string push(std::int32_t id);
  // Returns the rest: U+FFFD for an incomplete character. Later tokens continue the text.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::string pending_;  // bytes of an incomplete character
  bool at_start_;        // all tokens so far were special
  std::vector<std::int32_t> shown_;
};

}  // namespace headlight
