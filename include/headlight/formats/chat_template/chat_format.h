#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/datasets/learned_tokens.h"
#include "headlight/formats/chat_template/chat_template.h"
#include "headlight/tokenizers/tokenizer.h"

namespace headlight {

class AddedTokenMatcher;
struct ChatTokens;
struct UnmarkedText;

struct ChatMessage {
  std::string role;  // user, assistant, system, or another role that the template accepts
  std::string content;
  // JSON object of further members that the template reads: tool_calls, tool_call_id, name.
  std::string more = "{}";
  bool is_learned = true;  // false: encode_for_training() makes an answer context
};

// The end of a prompt.
enum class ChatPrompt {
  new_answer,   // the beginning of the assistant's next message
  last_answer,  // the last message, without its end: the model continues it
};

// Chat templates of a model with the model's tokenizer: turn a conversation into prompt tokens. The
// tokenizer encodes the rendered text as a whole, as Tokenizer::encode() does.
class ChatFormat {
 public:
  // `templates`: usually Tokenizer::chat_template(). The tokenizer must outlive the format. Never
  // throws for templates that cannot be used; see problem().
  ChatFormat(const ChatTemplates& templates, const Tokenizer& tokenizer);

  // Return for prompts without or with tools why there is no usable template, in one line; "" if
  // there is one.
  const std::string& problem(bool has_tools = false) const { return form(has_tools).problem; }
  // Returns the Jinja template; "" if there is a problem().
  std::string_view source(bool has_tools = false) const;
  // Returns the prompt tokens of a conversation. `tools`: JSON list of functions that the model may
  // call; "": none. `begun`: text of the template at the beginning of the answer. `variables`: JSON
  // object of further variables of the template, such as enable_thinking; "": none. Names of
  // special tokens become tokens in the text of the template, but not in messages and tools. Throws
  // Error about "messages" for text that is not UTF-8, for messages that the template refuses, if
  // there is a problem(), and for a last_answer that is empty or left out by the template.
  std::vector<std::int32_t> encode(const std::vector<ChatMessage>& messages,
                                   ChatPrompt end = ChatPrompt::new_answer,
                                   const std::string& tools = {}, std::string_view begun = {},
                                   const std::string& variables = {}) const;
  // Returns the text of which encode() returns the tokens.
  std::string prompt_text(const std::vector<ChatMessage>& messages,
                          ChatPrompt end = ChatPrompt::new_answer, const std::string& tools = {},
                          std::string_view begun = {}, const std::string& variables = {}) const;
  // Returns the tokens of a whole conversation for training; tokens that are not to be learned are
  // context (see learned_tokens.h). An answer of the assistant is learned from the end of its
  // prompt to the end of its turn, as in TRL: with the token after the answer, and with tokens that
  // cross its borders. `tools`: see encode(). Throws Error about "messages" as encode() does, and
  // if the template does not keep an answer that is to be learned.
  std::vector<std::int32_t> encode_for_training(const std::vector<ChatMessage>& messages,
                                                Learn learn, const std::string& tools = {}) const;
  // Returns the tokens of a conversation of which everything after the prompt is learned, the first
  // `prompt_messages` messages: from the first token that the prompt alone does not have, as in
  // TRL, if the template writes the prompt alone in the same way. Throws Error as
  // encode_for_training() does.
  std::vector<std::int32_t> encode_completion(const std::vector<ChatMessage>& messages,
                                              std::size_t prompt_messages,
                                              const std::string& tools = {}) const;
  // Returns the text of a whole conversation, of which encode_for_training() returns the tokens.
  // Throws Error as encode() does.
  std::string whole_text(const std::vector<ChatMessage>& messages,
                         const std::string& tools = {}) const;
  // Returns names in angle brackets, such as <|im_end|>, that the template writes around messages
  // but the vocabulary lacks: they become plain text.
  std::vector<std::string> missing_names() const;
  // Returns the tokens that the templates write after an answer.
  const std::vector<std::int32_t>& end_tokens() const { return end_tokens_; }

 private:
  // One template.
  struct Form {
    std::optional<ChatTemplate> program;
    std::string problem;
    std::string turn_ending;  // text after the content of a last answer
  };

  struct Chat {
    const std::vector<ChatMessage>& messages;
    const std::string& tools;
    std::string text;  // rendered
  };

  UnmarkedText prompt(const std::vector<ChatMessage>& messages, ChatPrompt end,
                      const std::string& tools, std::string_view begun,
                      const std::string& variables) const;
  Form form_of(const std::string* source);
  const Form& form(bool has_tools) const { return has_tools && tool_use_ ? *tool_use_ : main_; }
  void check(const std::vector<ChatMessage>& messages, bool has_tools) const;
  std::vector<ByteRange> learned_spans(const Chat& chat, const ChatTokens& whole,
                                       Learn learn) const;
  std::size_t learned_begin(const ChatTokens& whole, const std::string& before,
                            std::size_t begin) const;
  std::string prompt_of(const Chat& chat, std::size_t i) const;
  ByteRange answer_span(const Chat& chat, std::size_t i, const std::string& prompt) const;
  std::size_t answer_begin(const Chat& chat, std::size_t i, std::string_view kept,
                           const std::string& prompt) const;
  std::size_t answer_end(const Chat& chat, std::size_t i, std::string_view kept,
                         std::size_t begin) const;
  std::size_t ending_length(std::string_view text, std::string_view ending) const;
  std::vector<std::int32_t> encoded(const UnmarkedText& chat, std::vector<ByteRange>* ranges) const;
  ChatTokens tokens_of(const Chat& chat) const;
  std::string rendered(const std::vector<ChatMessage>& messages, bool add_generation_prompt,
                       const std::string& tools = {}, const std::string& variables = {}) const;
  std::string rendered(const Form& form, const ChatTemplateInput& input) const;
  std::string one_turn(const Form& form, const std::string& answer) const;
  void set_turn_end(Form& form);

  const Tokenizer& tokenizer_;
  std::shared_ptr<const AddedTokenMatcher> special_;  // never changes; copies share it
  std::string variables_;  // JSON object with the names of special tokens
  std::vector<std::int32_t> end_tokens_;
  Form main_;
  std::optional<Form> tool_use_;  // for prompts with tools, if the model has such a template
};

}  // namespace headlight
