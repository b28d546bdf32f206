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

// How a model was taught to read chats. Of the templates that model files carry only ChatML's are
// understood,
//
//   <|im_start|>ROLE\nCONTENT<|im_end|>\n   for every message, then <|im_start|>assistant\n
//
// with or without a system message of its own where the chat has none.
class ChatFormat {
 public:
  // `source` is the template of the model file, in Jinja; see Tokenizer::chat_template().
  ChatFormat(const std::string& source, const Tokenizer& tokenizer);

  // Empty: it is understood. Else why not, in one line.
  const std::string& problem() const { return problem_; }
  // The tokens that the answer follows. Contents cannot hold special tokens. Throws Error about
  // "messages" for text that is not UTF-8, and with problem() where there is one.
  std::vector<std::int32_t> encode(const std::vector<ChatMessage>& messages) const;
  // Those that end an answer.
  std::vector<std::int32_t> end_tokens() const { return {turn_end_}; }

 private:
  void append(const ChatMessage& message, std::vector<std::int32_t>& ids) const;

  const Tokenizer& tokenizer_;
  std::string problem_;
  std::string usual_system_;  // said where the chat says nothing; empty: nothing is
  std::int32_t turn_begin_ = 0;
  std::int32_t turn_end_ = 0;
};

}  // namespace headlight::serve
