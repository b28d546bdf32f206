#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/chat_template/tool_call_reader.h"

namespace headlight {

// Part of an answer: text for the reader, or a call.
struct AnswerPart {
  std::string text = {};
  std::optional<ToolCall> call = {};
};

// Finds tool calls in an answer while it is generated. Everything that is not a complete call of a
// known function stays text, such as objects that are cut off or no JSON. With `in_pieces`, a call
// begins when its first arguments are known; it may then be cut off. Drops blanks around calls. The
// time is linear in the answer.
class ToolCallParser {
 public:
  struct Options {
    Json functions = Json::array();  // [{"name", "parameters"}] that may be called
    bool has_begun = false;          // the prompt ends with ToolStyle::begin
    std::size_t most_calls = 1;      // the text after the last of them is dropped
    bool in_pieces = false;          // gives arguments before the call is complete
  };

  // Longest text of a call, in bytes.
  static constexpr std::size_t kLongestCall = std::size_t{1} << 20U;

  ToolCallParser(const ToolStyle& style, Options options);

  // Adds text and returns the parts that it completes.
  std::vector<AnswerPart> push(std::string_view piece);
  // Returns the rest at the end of the answer.
  std::vector<AnswerPart> finish();

 private:
  enum class State { text, between_calls, call };

  bool advance();
  bool read_text();
  bool read_between_calls();
  bool read_call();
  std::string_view next_mark() const;
  void end_calls(std::size_t end, bool is_text);
  void give_text(std::size_t end);
  std::size_t drop_blanks_after_call();
  void drop(std::size_t end) { held_.erase(0, end); }
  bool is_over() const { return calls_ >= options_.most_calls; }

  const ToolStyle& style_;
  Options options_;
  State state_;
  std::string held_;      // text that may belong to a call
  std::size_t read_ = 0;  // bytes of held_ before the next call
  std::size_t calls_ = 0;
  bool follows_call_ = false;             // only blanks and marks since a call
  std::optional<ToolCallReader> reader_;  // of the call in held_
  std::vector<AnswerPart> parts_;
};

}  // namespace headlight
