#include "formats/chat_template/tool_call_parser.h"

#include <algorithm>
#include <utility>

namespace headlight {
namespace {

// Returns how many bytes at the end of `text` are a proper prefix of `mark`.
std::size_t begun_mark(std::string_view text, std::string_view mark) {
  std::size_t size = std::min(text.size(), mark.size() - 1);
  while (!text.ends_with(mark.substr(0, size))) {
    --size;
  }
  return size;
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
  const bool ends_call = follows_call_ && state_ == State::between_calls &&
                         next_mark().starts_with(std::string_view(held_).substr(read_));
  const bool is_cut_off = state_ == State::call && reader_->is_begun();
  if (!is_over() && !ends_call && !is_cut_off) {
    drop_blanks_after_call();
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
  drop_blanks_after_call();
  const std::size_t mark = held_.find(style_.begin);
  const std::size_t undecided = held_.size() - begun_mark(held_, style_.begin);
  const std::string_view before = std::string_view(held_).substr(0, std::min(mark, undecided));
  const std::size_t text = before.find_last_not_of(kCallBlanks) + 1;
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
    return kCallBlanks.find(c) != std::string_view::npos ||
           style_.between.find(c) != std::string_view::npos;
  };
  while (read_ < held_.size() && read_ <= kLongestCall && is_skipped(held_[read_])) {
    ++read_;
  }
  const std::string_view rest = std::string_view(held_).substr(read_);
  const std::string_view mark = next_mark();
  const std::optional<bool> begins_call = ToolCallReader::begins(style_, rest);
  if (read_ > kLongestCall) {
    end_calls(read_, !follows_call_);
  } else if ((rest.size() < mark.size() && mark.starts_with(rest)) || !begins_call) {
    return false;
  } else if (*begins_call) {
    reader_.emplace(style_, options_.functions, options_.in_pieces);
    state_ = State::call;
  } else if (!rest.starts_with(mark)) {
    end_calls(read_, !follows_call_);
  } else if (mark == style_.end) {
    end_calls(read_ + mark.size(), false);
  } else {
    read_ += mark.size();
  }
  return true;
}

// Returns the mark that may be next between calls.
std::string_view ToolCallParser::next_mark() const {
  return follows_call_ && !style_.end.empty() ? style_.end : style_.begin;
}

// Continues with text after `end`; the bytes before it are text, too, or dropped.
void ToolCallParser::end_calls(std::size_t end, bool is_text) {
  is_text ? give_text(end) : drop(end);
  read_ = 0;
  state_ = State::text;
}

// Reads on to the end of the call; a broken one is text, with its mark.
bool ToolCallParser::read_call() {
  const std::string_view call = std::string_view(held_).substr(read_, kLongestCall + 1);
  ToolCallReader::State state = reader_->read(call);
  if (std::optional<ToolCall> piece = reader_->take()) {
    parts_.push_back({.call = std::move(piece)});
  }
  if (state == ToolCallReader::State::unfinished) {
    if (call.size() <= kLongestCall) {
      return false;
    }
    state = reader_->is_begun() ? ToolCallReader::State::complete : ToolCallReader::State::broken;
  }
  const std::size_t end = read_ + reader_->size();
  if (state == ToolCallReader::State::broken) {
    end_calls(end - drop_blanks_after_call(), true);
    return true;
  }
  drop(end);
  read_ = 0;
  ++calls_;
  follows_call_ = true;
  state_ = State::between_calls;
  return true;
}

// Returns the number of bytes dropped.
std::size_t ToolCallParser::drop_blanks_after_call() {
  const std::size_t size = held_.size();
  if (follows_call_) {
    drop(held_.find_first_not_of(kCallBlanks));
  }
  return size - held_.size();
}

void ToolCallParser::give_text(std::size_t end) {
  if (end > 0) {
    parts_.push_back({.text = held_.substr(0, end)});
    follows_call_ = false;
    drop(end);
  }
}

}  // namespace headlight
