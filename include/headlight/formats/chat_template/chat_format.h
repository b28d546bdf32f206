#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/data/learned_tokens.h"
#include "headlight/formats/chat_template/chat_template.h"
#include "headlight/text/tokenizer.h"

namespace headlight {

class AddedTokenMatcher;

struct ChatMessage {
  std::string role;  // user, assistant, system, or another role that the template accepts
  std::string content;
  // JSON object of further members that the template reads: tool_calls, tool_call_id, name.
  std::string more = "{}";
};

// The end of a prompt.
enum class ChatPrompt {
  new_answer,   // the beginning of the assistant's next message
  last_answer,  // the last message, without its end: the model continues it
};

// Chat template of a model with the model's tokenizer: turns a conversation into prompt tokens.
class ChatFormat {
 public:
  // `source`: Jinja template, usually Tokenizer::chat_template(). The tokenizer must outlive the
  // format. Never throws for a template that cannot be used; see problem().
  ChatFormat(const std::string& source, const Tokenizer& tokenizer);

  // Returns why the template cannot be used, in one line; "" if it can.
  const std::string& problem() const { return problem_; }
  // Returns the Jinja template; "" if there is a problem().
  std::string_view source() const { return template_ ? template_->source() : std::string_view(); }
  // Returns the prompt tokens of a conversation. `tools`: JSON list of functions that the model may
  // call; "": none. Names of special tokens become tokens in the text of the template, but not in
  // messages and tools. Throws Error about "messages" for text that is not UTF-8, for messages that
  // the template refuses, if there is a problem(), and for a last_answer that is empty or left out
  // by the template.
  std::vector<std::int32_t> encode(const std::vector<ChatMessage>& messages,
                                   ChatPrompt end = ChatPrompt::new_answer,
                                   const std::string& tools = {}) const;
  // Returns the tokens of a whole conversation for training; those that are not to be learned are
  // context (see learned_tokens.h). An answer of the assistant is learned from the end of its
  // prompt to the end of its turn, as in TRL: with the token after the answer. `tools`: see
  // encode(). Throws Error about "messages" as encode() does, and if the template does not keep an
  // answer that is to be learned.
  std::vector<std::int32_t> encode_for_training(const std::vector<ChatMessage>& messages,
                                                Learn learn, const std::string& tools = {}) const;
  // Returns names in angle brackets, such as <|im_end|>, that the template writes around messages
  // but the vocabulary lacks: they become plain text.
  std::vector<std::string> missing_names() const;
  // Returns the token that the template writes after an answer, if there is one.
  const std::vector<std::int32_t>& end_tokens() const { return end_tokens_; }

 private:
  // A range of bytes of a rendered chat.
  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  struct Chat {
    const std::vector<ChatMessage>& messages;
    const std::string& tools;
    std::string text;  // rendered
  };

  void check(const std::vector<ChatMessage>& messages) const;
  std::vector<Span> learned_spans(const Chat& chat, Learn learn) const;
  Span answer_span(const Chat& chat, std::size_t i) const;
  std::size_t answer_begin(const Chat& chat, std::size_t i, std::string_view kept) const;
  std::size_t answer_end(const Chat& chat, std::size_t i, std::string_view kept,
                         std::size_t begin) const;
  std::size_t ending_length(std::string_view text, std::string_view ending) const;
  std::vector<std::int32_t> tokens_of(const std::string& text,
                                      const std::vector<Span>& learned) const;
  std::vector<std::int32_t> plain_tokens(std::string_view text, std::size_t begin,
                                         const std::vector<Span>& learned) const;
  std::string rendered(const std::vector<ChatMessage>& messages, bool add_generation_prompt,
                       const std::string& tools = {}) const;
  std::string one_turn(const std::string& answer) const;
  std::string turn_ending() const;
  std::vector<std::int32_t> turn_end() const;

  const Tokenizer& tokenizer_;
  std::shared_ptr<const AddedTokenMatcher> special_;  // never changes; copies share it
  std::optional<ChatTemplate> template_;
  std::string problem_;
  std::string variables_;    // JSON object with the names of special tokens
  std::string turn_ending_;  // text after the content of a last answer
  std::vector<std::int32_t> end_tokens_;
};

}  // namespace headlight
