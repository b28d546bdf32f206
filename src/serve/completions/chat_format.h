#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headlight/formats/chat_template/chat_template.h"
#include "headlight/text/tokenizer.h"
#include "text/added_tokens.h"

namespace headlight::serve {

struct ChatMessage {
  std::string role;
  std::string content;
};

// Chat template of a model with the model's tokenizer.
class ChatFormat {
 public:
  // `source`: Jinja template of the model file; see Tokenizer::chat_template().
  ChatFormat(const std::string& source, const Tokenizer& tokenizer);

  // Returns why the template cannot be used, in one line; empty: it can.
  const std::string& problem() const { return problem_; }
  // Returns the prompt tokens of a chat. Names of special tokens become tokens in the text of the
  // template, but not in contents. Throws Error about "messages" for text that is not UTF-8, for
  // messages that the template refuses, and if there is a problem().
  std::vector<std::int32_t> encode(const std::vector<ChatMessage>& messages) const;
  // Returns the token that the template writes after an answer, if there is one.
  const std::vector<std::int32_t>& end_tokens() const { return end_tokens_; }

 private:
  std::string rendered(const std::vector<ChatMessage>& messages, bool add_generation_prompt) const;
  std::vector<std::int32_t> turn_end() const;

  const Tokenizer& tokenizer_;
  AddedTokenMatcher special_;
  std::optional<ChatTemplate> template_;
  std::string problem_;
  std::string variables_;  // JSON object with the names of special tokens
  std::vector<std::int32_t> end_tokens_;
};

}  // namespace headlight::serve
