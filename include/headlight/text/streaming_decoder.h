#pragma once

#include "headlight/text/tokenizer.h"

namespace headlight {

// Decodes token by token without ever handing out a cut character: the parts joined are what
// Tokenizer::decode gives for all ids at once.
class StreamingDecoder {
 public:
  // The tokenizer must outlive the decoder. Tokens that go on a text keep the blank before the
  // first word, which a text of its own does not have.
  explicit StreamingDecoder(const Tokenizer& tokenizer, bool goes_on = false)
      : tokenizer_(&tokenizer), at_start_(!goes_on) {}

  // The text that is certain once `id` has been added; "" while a character is incomplete. Throws
  // Error when the id is out of range.
  std::string push(std::int32_t id);
  // What is left, U+FFFD for an incomplete character. The next token goes on the text.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::string pending_;  // bytes of a character that is not complete
  bool at_start_;        // no token of text has come
};

}  // namespace headlight
