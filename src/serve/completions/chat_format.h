#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headlight/text/tokenizer.h"

namespace headlight::serve {

struct ChatMessage {
  std::string role;
  std::string content;
};

// Chat template of a model. Only ChatML is supported:
//
//   <|im_start|>ROLE\nCONTENT<|im_end|>\n   for every message, then <|im_start|>assistant\n
//
// with or without a default system message for chats that have none.
class ChatFormat {
 public:
  // `source`: Jinja template of the model file; see Tokenizer::chat_template().
  ChatFormat(const std::string& source, const Tokenizer& tokenizer);

  // Returns why the template is not supported, in one line; empty: it is.
  const std::string& problem() const { return problem_; }
  // Returns the prompt tokens of a chat. Contents cannot hold special tokens. Throws Error about
  // "messages" for text that is not UTF-8, and if there is a problem().
  std::vector<std::int32_t> encode(const std::vector<ChatMessage>& messages) const;
  // Returns the tokens that end an answer.
  std::vector<std::int32_t> end_tokens() const { return {turn_end_}; }

 private:
  const Tokenizer& tokenizer_;
  std::string problem_;
  std::string usual_system_;  // default system message; empty: none
  std::int32_t turn_begin_ = 0;
  std::int32_t turn_end_ = 0;
};

}  // namespace headlight::serve
