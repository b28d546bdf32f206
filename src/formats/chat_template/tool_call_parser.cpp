#include "formats/chat_template/tool_call_parser.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace headlight {
namespace {

constexpr std::string_view kBlanks = " \t\n\r";

// Returns how many bytes at the end of `text` are the beginning of `mark`, but not all of it.
std::size_t begun_mark(std::string_view text, std::string_view mark) {
  std::size_t size = std::min(text.size(), mark.size() - 1);
  while (!text.ends_with(mark.substr(0, size))) {
    --size;
  }
  return size;
}

std::optional<ToolCall> call_of(std::string_view text, const std::vector<std::string>& names) {
  const std::optional<Json> object = try_parse_json(text);
  const Json* name = object ? object->find("name") : nullptr;
  const bool is_known = name != nullptr && name->is_string() &&
                        std::find(names.begin(), names.end(), name->text()) != names.end();
  if (!is_known) {
    return std::nullopt;
  }
  Json arguments = object->value("arguments", object->value("parameters", Json::object()));
  if (arguments.is_string()) {
    arguments = try_parse_json(arguments.text()).value_or(Json());
  }
  return arguments.is_object() ? std::optional(ToolCall{name->text(), arguments.dump()})
                               : std::nullopt;
}

}  // namespace

ToolCallParser::ToolCallParser(const ToolStyle& style, Options options)
    : style_(style),
      options_(std::move(options)),
      state_(options_.has_begun || style.starts_bare ? State::between_calls : State::text) {}

std::vector<AnswerPart> ToolCallParser::push(std::string_view piece) {
  if (!is_over()) {
    held_ += piece;
    while (!is_over() && advance()) {
    }
  }
  return std::exchange(parts_, {});
}

std::vector<AnswerPart> ToolCallParser::finish() {
  const bool ends_call = follows_call_ && state_ == State::between_calls;
  if (!is_over() && !ends_call) {
    give_text(held_.size());
  }
  held_.clear();
  return std::exchange(parts_, {});
}

// Returns false if more text is needed.
bool ToolCallParser::advance() {
  switch (state_) {
    case State::text:
      return read_text();
    case State::between_calls:
      return read_between_calls();
    case State::call:
      break;
  }
  return read_call();
}

// Keeps blanks before a mark with it: they belong to the call if there is one.
bool ToolCallParser::read_text() {
  if (follows_call_) {
    held_.erase(0, held_.find_first_not_of(kBlanks));
  }
  const std::size_t mark = held_.find(style_.begin);
  const std::size_t undecided = held_.size() - begun_mark(held_, style_.begin);
  const std::string_view before = std::string_view(held_).substr(0, std::min(mark, undecided));
  const std::size_t text = before.find_last_not_of(kBlanks) + 1;
  constexpr std::size_t kMostBlanks = 256;  // bounds the text that each call of push() reads again
  const std::size_t end = std::max(text, before.size() - std::min(before.size(), kMostBlanks));
  give_text(end);
  if (mark == std::string::npos) {
    return false;
  }
  read_ = mark - end + style_.begin.size();
  state_ = State::between_calls;
  follows_call_ = false;
  return true;
}

bool ToolCallParser::read_between_calls() {
  const auto is_skipped = [&](char c) {
    return kBlanks.find(c) != std::string_view::npos ||
           style_.between.find(c) != std::string_view::npos;
  };
  while (read_ < held_.size() && is_skipped(held_[read_])) {
    ++read_;
  }
  const std::string_view rest = std::string_view(held_).substr(read_);
  const bool may_end = follows_call_ && !style_.end.empty();
  const std::string_view mark = may_end ? style_.end : style_.begin;
  if (rest.size() < mark.size() && mark.starts_with(rest) && read_ <= kLongestCall) {
    return false;
  }
  if (rest.starts_with('{')) {
    begin_call();
  } else if (!rest.starts_with(mark)) {
    end_calls(read_, !follows_call_);
  } else if (may_end) {
    end_calls(read_ + mark.size(), false);
  } else {
    read_ += mark.size();
  }
  return true;
}

void ToolCallParser::begin_call() {
  object_ = read_;
  depth_ = 0;
  in_string_ = is_escaped_ = false;
  state_ = State::call;
}

// Continues with text after `end`; the bytes before it are text, too, or dropped.
void ToolCallParser::end_calls(std::size_t end, bool is_text) {
  is_text ? give_text(end) : drop(end);
  read_ = 0;
  state_ = State::text;
}

// Reads on to the end of the object.
bool ToolCallParser::read_call() {
  for (; read_ < held_.size(); ++read_) {
    const char c = held_[read_];
    if (in_string_) {
      in_string_ = is_escaped_ || c != '"';
      is_escaped_ = !is_escaped_ && c == '\\';
      continue;
    }
    in_string_ = c == '"';
    depth_ += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (depth_ == 0) {
      return take_call(read_ + 1);
    }
  }
  return read_ > kLongestCall && take_call(read_);
}

// Ends an object; one that is no call is text, with its mark.
bool ToolCallParser::take_call(std::size_t end) {
  const std::string_view object = std::string_view(held_).substr(object_, end - object_);
  std::optional<ToolCall> call = call_of(object, options_.names);
  if (!call) {
    end_calls(end, true);
    return true;
  }
  parts_.push_back({.call = std::move(call)});
  drop(end);
  read_ = 0;
  ++calls_;
  follows_call_ = true;
  state_ = State::between_calls;
  return true;
}

void ToolCallParser::give_text(std::size_t end) {
  if (end > 0) {
    parts_.push_back({.text = held_.substr(0, end)});
    follows_call_ = false;
    drop(end);
  }
}

}  // namespace headlight
