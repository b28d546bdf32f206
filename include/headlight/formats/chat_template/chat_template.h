#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>

namespace headlight {

// A chat and the variables of one rendering.
struct ChatTemplateInput {
  std::string messages = "[]";  // JSON list of objects with "role" and "content"
  std::string tools = {};       // JSON list of function schemas; empty: none
  std::string variables =
      "{}";  // JSON object of further variables: bos_token, enable_thinking, ...
  bool add_generation_prompt = true;  // end with the beginning of an answer
  std::optional<std::tm> now = {};    // time for strftime_now; empty: local time
};

// Chat template of a model: a program in Jinja that turns messages into a prompt.
//
// Renders byte for byte as `apply_chat_template` of Hugging Face transformers does, with Jinja 3.1
// in a sandbox (trim_blocks, lstrip_blocks, loop controls, {% generation %}, tojson,
// raise_exception, strftime_now). Not supported: including other templates, computing with whole
// numbers beyond 64 bits, and the filters filesizeformat, pprint, random, striptags, urlize,
// wordwrap and xmlattr.
//
// Templates are untrusted: time, memory, nesting and output are limited (see limits.h). Threads may
// render with one template at the same time.
class ChatTemplate {
 public:
  // Throws Error with the line for a template that is not UTF-8, not Jinja, or too large.
  explicit ChatTemplate(std::string source);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  const std::string& source() const { return source_; }

  // Returns the prompt. As in transformers, members of messages that are null are dropped, and
  // reasoning_content, thinking and reasoning are names of one member. Throws Error with the line
  // of the template where it fails, refuses the messages, or exceeds a limit.
  std::string render(const ChatTemplateInput& input) const;

 private:
  struct Program;
  std::string source_;
  std::unique_ptr<const Program> program_;
};

}  // namespace headlight
