#include "serve/completions/chat_format.h"

#include <string_view>

#include "headlight/base/error.h"

namespace headlight::serve {
namespace {

constexpr std::string_view kTurnBegin = "<|im_start|>";
constexpr std::string_view kTurnEnd = "<|im_end|>";

// Replaces the escape \n, which some templates contain, with a newline.
std::string with_line_ends(std::string text) {
  for (std::size_t at = 0; (at = text.find("\\n", at)) != std::string::npos;) {
    text.replace(at, 2, "\n");
  }
  return text;
}

// Returns TEXT of a literal '<|im_start|>system\nTEXT<|im_end|>...' in the template, or "".
std::string literal_system(const std::string& source) {
  const std::string opening = std::string(kTurnBegin) + "system\n";
  for (std::size_t at = 0; (at = source.find(opening, at)) != std::string::npos;) {
    at += opening.size();
    const std::size_t end = source.find(kTurnEnd, at);
    const std::string text = source.substr(at, end == std::string::npos ? 0 : end - at);
    if (!text.empty() && text.find_first_of("'\"{}") == std::string::npos) {
      return text;
    }
  }
  return "";
}

}  // namespace

ChatFormat::ChatFormat(const std::string& source, const Tokenizer& tokenizer)
    : tokenizer_(tokenizer) {
  if (source.empty()) {
    problem_ = "this model has no chat template: use /v1/completions";
    return;
  }
  const auto begin = tokenizer.special_id(kTurnBegin);
  const auto end = tokenizer.special_id(kTurnEnd);
  const std::string text = with_line_ends(source);
  const bool has_marks =
      text.find(kTurnBegin) != std::string::npos && text.find(kTurnEnd) != std::string::npos;
  if (!has_marks || !begin || !end) {
    problem_ =
        "the model's chat template is not ChatML, the only one that this server supports: use "
        "/v1/completions";
    return;
  }
  usual_system_ = literal_system(text);
  turn_begin_ = *begin;
  turn_end_ = *end;
}

std::vector<std::int32_t> ChatFormat::encode(const std::vector<ChatMessage>& messages) const {
  require_value(problem_.empty(), "messages", problem_);
  std::vector<std::int32_t> ids;
  const auto add_text = [&](const std::string& text) {
    const std::vector<std::int32_t> more = tokenizer_.encode(text);
    ids.insert(ids.end(), more.begin(), more.end());
  };
  const auto add_turn = [&](const ChatMessage& message) {
    ids.push_back(turn_begin_);
    add_text(message.role + "\n" + message.content);
    ids.push_back(turn_end_);
    add_text("\n");
  };
  if (!usual_system_.empty() && (messages.empty() || messages.front().role != "system")) {
    add_turn({"system", usual_system_});
  }
  for (const ChatMessage& message : messages) {
    add_turn(message);
  }
  ids.push_back(turn_begin_);
  add_text("assistant\n");
  return ids;
}

}  // namespace headlight::serve
