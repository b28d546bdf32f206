#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/formats/chat_template/chat_template.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

class AddedTokenMatcher;

struct ChatMessage {
  std::string role;  // user, assistant, system, or another role that the template accepts
  std::string content;
};

// Chat template of a model with the model's tokenizer: turns a conversation into prompt tokens.
class ChatFormat {
 public:
  // `source`: Jinja template, usually Tokenizer::chat_template(). The tokenizer must outlive the
  // format. Never throws for a template that cannot be used; see problem().
  ChatFormat(const std::string& source, const Tokenizer& tokenizer);

  // Returns why the template cannot be used, in one line; "" if it can.
  const std::string& problem() const { return problem_; }
  // Returns the prompt tokens of a conversation. Names of special tokens become tokens in the text
  // of the template, but not in contents. Throws Error about "messages" for text that is not UTF-8,
  // for messages that the template refuses, and if there is a problem().
  std::vector<std::int32_t> encode(const std::vector<ChatMessage>& messages) const;
  // Returns the token that the template writes after an answer, if there is one.
  const std::vector<std::int32_t>& end_tokens() const { return end_tokens_; }

 private:
  std::string rendered(const std::vector<ChatMessage>& messages, bool add_generation_prompt) const;
  std::vector<std::int32_t> turn_end() const;

  const Tokenizer& tokenizer_;
  std::shared_ptr<const AddedTokenMatcher> special_;  // never changes; copies share it
  std::optional<ChatTemplate> template_;
  std::string problem_;
  std::string variables_;  // JSON object with the names of special tokens
  std::vector<std::int32_t> end_tokens_;
};

}  // namespace headlight
