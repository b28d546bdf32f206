#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "headlight/formats/chat_template/chat_format.h"
#include "headlight/generate/decoder.h"
#include "headlight/generate/generator.h"

namespace headlight {

struct ChatReply {
  GenerateResult result;
  Index left_out = 0;  // oldest messages that the model did not read, because the context is full
  Index context = 0;   // tokens of prompt and answer
};

// A conversation with a model. The beginning of the prompt that an earlier answer has read is
// reused, in chunks of 128 tokens; the previous answer and the new question are read.
class ChatSession {
 public:
  // Decoder and tokenizer must outlive the session. Throws Error for templates that cannot be
  // used; see ChatFormat.
  ChatSession(Decoder& decoder, const Tokenizer& tokenizer, const ChatTemplates& templates);
  ~ChatSession();
  ChatSession(const ChatSession&) = delete;
  ChatSession& operator=(const ChatSession&) = delete;

  // The conversation, oldest message first. Callers may change it between answers.
  std::vector<ChatMessage>& messages() { return messages_; }
  const std::vector<ChatMessage>& messages() const { return messages_; }

  struct Sinks {
    std::function<void(std::string_view piece)> on_text = {};  // see generate()
    // Called before each token; true ends the answer.
    std::function<bool()> should_stop = {};
  };

  // Generates an answer and appends it to messages() with the role "assistant", unless it is
  // stopped before its first token. An answer needs room for max_new_tokens, but at most a quarter
  // of the context. If the conversation leaves less, the oldest messages after the system message
  // are left out. `hook` changes activations while the answer is generated; null: none. Throws
  // Error about "messages" if the last message alone does not fit or the template refuses the
  // messages; then nothing changes.
  ChatReply reply(GenerateOptions options, const Sinks& sinks, ForwardHook* hook = nullptr);

 private:
  struct Prompt;
  Prompt prompt(Index max_new_tokens) const;

  struct State;
  std::vector<ChatMessage> messages_;
  std::unique_ptr<State> state_;
};

}  // namespace headlight
