#include "headlight/formats/chat_template/chat_format.h"

#include <algorithm>
#include <string_view>

#include "base/json.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "text/added_tokens.h"
#include "text/special_names.h"

namespace headlight {
namespace {

// Noncharacters of Unicode around names of special tokens in contents. Templates keep them, so that
// the names can be distinguished from those of the template.
constexpr std::string_view kNameStart = "\uFDD0";
constexpr std::string_view kNameEnd = "\uFDD1";

std::string with_marked_names(const AddedTokenMatcher& special, const std::string& content) {
  std::string marked;
  for (const TextSegment& segment : special.split(content, true)) {
    marked += segment.id < 0 ? "" : kNameStart;
    marked += segment.text;
    marked += segment.id < 0 ? "" : kNameEnd;
  }
  return marked;
}

std::string without_marks(std::string text) {
  for (const std::string_view mark : {kNameStart, kNameEnd}) {
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;) {
      text.erase(at, mark.size());
    }
  }
  return text;
}

// Returns the end of the last message's content in a rendered chat. Templates may trim it.
std::size_t end_of(std::string_view content, std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  const std::size_t begin = std::min(content.find_first_not_of(kBlanks), content.size());
  const std::string_view untrimmed = content.substr(begin);
  const std::string_view trimmed = untrimmed.substr(0, untrimmed.find_last_not_of(kBlanks) + 1);
  require_value(!trimmed.empty(), "messages", "expected a last message with text to continue");
  const std::size_t place = text.rfind(trimmed);
  require_value(place != std::string_view::npos, "messages",
                "the chat template leaves out the last message: it cannot be continued");
  const bool keeps_blanks = text.substr(place).starts_with(untrimmed);
  return place + (keeps_blanks ? untrimmed : trimmed).size();
}

}  // namespace

ChatFormat::ChatFormat(const std::string& source, const Tokenizer& tokenizer)
    : tokenizer_(tokenizer),
      special_(std::make_shared<AddedTokenMatcher>(special_tokens_of(tokenizer))) {
  if (source.empty()) {
    problem_ = "this model has no chat template";
    return;
  }
  Json names = Json::object();
  const auto add_name = [&](const char* key, std::optional<std::int32_t> id) {
    if (id) {
      names.add(key, tokenizer.special_name(*id));
    }
  };
  add_name("bos_token", tokenizer.begin_token());
  add_name("eos_token", tokenizer.end_token());
  add_name("pad_token", tokenizer.padding());
  variables_ = names.dump();
  try {
    template_.emplace(source);
    end_tokens_ = turn_end();
  } catch (const Error& error) {
    problem_ = concat_text("the model's ", error.what());
  }
}

std::string ChatFormat::rendered(const std::vector<ChatMessage>& messages,
                                 bool add_generation_prompt) const {
  const Json list = json_list(messages, [&](const ChatMessage& message) {
    return Json{{"role", message.role}, {"content", with_marked_names(*special_, message.content)}};
  });
  return template_->render({.messages = list.dump(),
                            .variables = variables_,
                            .add_generation_prompt = add_generation_prompt});
}

// Returns a chat of one question and this answer; "" if the template refuses it, since it may
// accept others.
std::string ChatFormat::one_turn(const std::string& answer) const {
  const std::vector<ChatMessage> chat{{"user", "Hi"}, {"assistant", answer}};
  try {
    return template_ ? rendered(chat, false) : std::string();
  } catch (const Error&) {
    return {};
  }
}

std::vector<std::string> ChatFormat::missing_names() const {
  std::vector<std::string> names;
  const std::string text = one_turn("Hi");
  for (const TextSegment& segment : special_->split(text, true)) {
    std::string_view rest = segment.id < 0 ? segment.text : "";
    for (std::size_t begin = 0; (begin = rest.find('<')) != std::string_view::npos;) {
      rest.remove_prefix(begin);
      const std::size_t end = std::min(rest.find_first_of("> \n\t"), rest.size() - 1) + 1;
      const std::string name(rest.substr(0, end));
      if (name.size() > 2 && name.ends_with('>') && std::ranges::find(names, name) == names.end()) {
        names.push_back(name);
      }
      rest.remove_prefix(end);
    }
  }
  return names;
}

// Finds the special token after the content of an answer.
std::vector<std::int32_t> ChatFormat::turn_end() const {
  constexpr std::string_view kAnswer = "ANSWER";
  const std::string text = one_turn(std::string(kAnswer));
  const std::size_t place = text.rfind(kAnswer);
  const std::size_t start = place == std::string::npos ? text.size() : place + kAnswer.size();
  for (const TextSegment& segment : special_->split(std::string_view(text).substr(start), true)) {
    if (segment.id >= 0) {
      return {segment.id};
    }
  }
  return {};
}

std::vector<std::int32_t> ChatFormat::encode(const std::vector<ChatMessage>& messages,
                                             ChatPrompt end) const {
  require_value(problem_.empty(), "messages", problem_);
  for (const ChatMessage& message : messages) {
    require_utf8_value(message.content, "messages");
    require_value(without_marks(message.content) == message.content, "messages",
                  "expected no noncharacters U+FDD0 and U+FDD1");
  }
  std::string text;
  try {
    text = rendered(messages, end == ChatPrompt::new_answer);
  } catch (const Error& error) {
    fail_value("messages", error.what());
  }
  if (end == ChatPrompt::last_answer) {
    require_value(!messages.empty(), "messages", "expected a message to continue, got none");
    text.resize(end_of(with_marked_names(*special_, messages.back().content), text));
  }
  std::vector<std::int32_t> ids;
  std::string plain;
  const auto add_plain = [&] {
    const std::vector<std::int32_t> more = tokenizer_.encode(without_marks(plain));
    ids.insert(ids.end(), more.begin(), more.end());
    plain.clear();
  };
  const std::vector<TextSegment> segments = special_->split(text, true);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool is_marked = i > 0 && i + 1 < segments.size() &&
                           segments[i - 1].text.ends_with(kNameStart) &&
                           segments[i + 1].text.starts_with(kNameEnd);
    if (segments[i].id < 0 || is_marked) {
      plain += segments[i].text;
    } else {
      add_plain();
      ids.push_back(segments[i].id);
    }
  }
  add_plain();
  return ids;
}

}  // namespace headlight
