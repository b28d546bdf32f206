#include "headlight/formats/chat_template/chat_format.h"

#include <algorithm>
#include <string_view>

#include "base/json.h"
#include "formats/chat_template/tail_match.h"
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

// Marks the names in all texts and keys of a value.
Json with_marked_names(const AddedTokenMatcher& special, const Json& value) {
  if (value.is_string()) {
    return with_marked_names(special, value.text());
  }
  if (value.is_array()) {
    return json_list(value, [&](const Json& one) { return with_marked_names(special, one); });
  }
  if (!value.is_object()) {
    return value;
  }
  Json marked = Json::object();
  for (const JsonMember& member : value.members()) {
    marked.add(with_marked_names(special, member.key), with_marked_names(special, member.value));
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

void require_no_marks(const std::string& text, const char* about) {
  require_value(without_marks(text) == text, about, "expected no noncharacters U+FDD0 and U+FDD1");
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

// Returns the number of equal bytes at the beginning of both texts.
std::size_t common_length(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

std::string_view part_of(std::string_view text, std::size_t begin, std::size_t end) {
  return text.substr(begin, std::max(begin, end) - begin);
}

std::vector<ChatMessage> first_messages(const std::vector<ChatMessage>& messages,
                                        std::size_t count) {
  return {messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(count)};
}

// Returns the part of an answer that every template keeps: without the thoughts before it and
// without blanks around it.
std::string_view kept_part(std::string_view answer) {
  constexpr std::string_view kThoughtsEnd = "</think>";
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  if (const std::size_t end = answer.rfind(kThoughtsEnd); end != answer.npos) {
    answer.remove_prefix(end + kThoughtsEnd.size());
  }
  answer.remove_prefix(std::min(answer.find_first_not_of(kBlanks), answer.size()));
  return answer.substr(0, answer.find_last_not_of(kBlanks) + 1);
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
    turn_ending_ = turn_ending();
    end_tokens_ = turn_end();
  } catch (const Error& error) {
    problem_ = concat_text("the model's ", error.what());
  }
}

std::string ChatFormat::rendered(const std::vector<ChatMessage>& messages,
                                 bool add_generation_prompt, const std::string& tools) const {
  const auto marked = [&](const std::string& json, const char* about) {
    const Json value = parse_json(json, about);
    require_no_marks(value.dump(), about);
    return with_marked_names(*special_, value);
  };
  const Json list = json_list(messages, [&](const ChatMessage& message) {
    Json result{{"role", message.role}, {"content", with_marked_names(*special_, message.content)}};
    result.update(marked(message.more, "messages"));
    return result;
  });
  try {
    return template_->render({.messages = list.dump(),
                              .tools = tools.empty() ? "" : marked(tools, "tools").dump(),
                              .variables = variables_,
                              .add_generation_prompt = add_generation_prompt});
  } catch (const Error& error) {
    fail_value("messages", error.what());
  }
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

// Returns the text after the content of a last answer.
std::string ChatFormat::turn_ending() const {
  constexpr std::string_view kAnswer = "ANSWER";
  const std::string text = one_turn(std::string(kAnswer));
  const std::size_t place = text.rfind(kAnswer);
  return place == std::string::npos ? "" : text.substr(place + kAnswer.size());
}

// Finds the special token after the content of an answer.
std::vector<std::int32_t> ChatFormat::turn_end() const {
  for (const TextSegment& segment : special_->split(turn_ending_, true)) {
    if (segment.id >= 0) {
      return {segment.id};
    }
  }
  return {};
}

void ChatFormat::check(const std::vector<ChatMessage>& messages) const {
  require_value(problem_.empty(), "messages", problem_);
  for (const ChatMessage& message : messages) {
    require_utf8_value(message.content, "messages");
    require_no_marks(message.content, "messages");
  }
}

std::vector<std::int32_t> ChatFormat::encode(const std::vector<ChatMessage>& messages,
                                             ChatPrompt end, const std::string& tools) const {
  check(messages);
  std::string text = rendered(messages, end == ChatPrompt::new_answer, tools);
  if (end == ChatPrompt::last_answer) {
    require_value(!messages.empty(), "messages", "expected a message to continue, got none");
    text.resize(end_of(with_marked_names(*special_, messages.back().content), text));
  }
  return tokens_of(text, {{0, text.size()}});
}

std::vector<std::int32_t> ChatFormat::encode_for_training(const std::vector<ChatMessage>& messages,
                                                          Learn learn,
                                                          const std::string& tools) const {
  check(messages);
  const Chat chat{messages, tools, rendered(messages, false, tools)};
  return tokens_of(chat.text, learn == Learn::all ? std::vector<Span>{{0, chat.text.size()}}
                                                  : learned_spans(chat, learn));
}

// Finds the answers of the assistant that are to be learned.
std::vector<ChatFormat::Span> ChatFormat::learned_spans(const Chat& chat, Learn learn) const {
  std::vector<Span> spans;
  for (std::size_t i = chat.messages.size(); i-- > 0;) {
    if (chat.messages[i].role == "assistant" && (spans.empty() || learn != Learn::last)) {
      spans.push_back(answer_span(chat, i));
    }
  }
  return spans;
}

// Returns the place of message `i`, an answer, with the end of its turn.
ChatFormat::Span ChatFormat::answer_span(const Chat& chat, std::size_t i) const {
  const std::string marked = with_marked_names(*special_, chat.messages[i].content);
  const std::string_view kept = kept_part(marked);
  Span span{.begin = answer_begin(chat, i, kept), .end = chat.text.size()};
  if (i + 1 < chat.messages.size()) {
    span.end = answer_end(chat, i, kept, span.begin);
  }
  require_value(part_of(chat.text, span.begin, span.end).find(kept) != std::string_view::npos,
                "messages", "the chat template does not keep message ", i + 1,
                " as it is, so that it cannot be learned alone; learn all tokens");
  return span;
}

// Returns the end of the prompt of message `i`.
std::size_t ChatFormat::answer_begin(const Chat& chat, std::size_t i, std::string_view kept) const {
  if (i == 0) {
    return std::min(chat.text.find(kept), chat.text.size());
  }
  const std::vector<ChatMessage> before = first_messages(chat.messages, i);
  const std::string prompt = rendered(before, true, chat.tools);
  const std::size_t shared = common_length(prompt, chat.text);
  if (shared == prompt.size() || chat.text.starts_with(rendered(before, false, chat.tools))) {
    return shared;
  }
  // The template writes a last question otherwise, as with the system message before it.
  const std::string marked = with_marked_names(*special_, before.back().content);
  const std::string_view question = kept_part(marked);
  const std::size_t from = shared - std::min(shared, question.size());
  const std::size_t in_prompt = prompt.find(question, from);
  const std::size_t in_text = chat.text.find(question, from);
  if (in_prompt == std::string::npos || in_text == std::string::npos) {
    return shared;
  }
  return in_text + common_length(std::string_view(prompt).substr(in_prompt),
                                 std::string_view(chat.text).substr(in_text));
}

// Returns the end of the turn of message `i`, an answer that begins at byte `begin` and is not the
// last message.
std::size_t ChatFormat::answer_end(const Chat& chat, std::size_t i, std::string_view kept,
                                   std::size_t begin) const {
  const std::string_view text = chat.text;
  const std::string answer = rendered(first_messages(chat.messages, i + 1), false, chat.tools);
  const std::string_view whole = answer;
  const std::string_view body =
      whole.substr(0, whole.size() - (whole.ends_with(turn_ending_) ? turn_ending_.size() : 0));
  std::size_t end = common_length(body, text);
  if (end < body.size() && (end <= begin || part_of(text, begin, end).find(kept) == text.npos)) {
    // The template writes a last answer otherwise, as with its thoughts: only the tails are equal.
    std::vector<ChatMessage> others = chat.messages;
    std::string& next = others[i + 1].content;
    next = kept_part(next).starts_with('.') ? "!" : ".";
    const std::size_t limit = common_length(rendered(others, false, chat.tools), text);
    end = begin + length_to_tail(part_of(text, begin, limit), body);
  }
  return end + ending_length(text.substr(end), whole.substr(body.size()));
}

// Returns the length of the end of a turn at the beginning of `text`: as far as it equals `ending`,
// the end of a last turn, or one special token in place of another.
std::size_t ChatFormat::ending_length(std::string_view text, std::string_view ending) const {
  const std::vector<TextSegment> found =
      special_->split(text.substr(0, AddedTokenMatcher::kLongest), true);
  const std::vector<TextSegment> usual = special_->split(ending, true);
  const bool is_other = !found.empty() && !usual.empty() && found.front().id >= 0 &&
                        usual.front().id >= 0 && found.front().id != usual.front().id;
  return is_other ? found.front().text.size() : common_length(ending, text);
}

std::vector<std::int32_t> ChatFormat::tokens_of(const std::string& text,
                                                const std::vector<Span>& learned) const {
  std::vector<std::int32_t> tokens;
  std::size_t plain_begin = 0;
  std::size_t place = 0;
  const auto add_plain = [&] {
    const std::vector<std::int32_t> more = plain_tokens(
        std::string_view(text).substr(plain_begin, place - plain_begin), plain_begin, learned);
    tokens.insert(tokens.end(), more.begin(), more.end());
  };
  const std::vector<TextSegment> segments = special_->split(text, true);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool is_marked = i > 0 && i + 1 < segments.size() &&
                           segments[i - 1].text.ends_with(kNameStart) &&
                           segments[i + 1].text.starts_with(kNameEnd);
    const std::size_t end = place + segments[i].text.size();
    if (segments[i].id >= 0 && !is_marked) {
      add_plain();
      plain_begin = end;
      const bool is_inside = std::ranges::any_of(
          learned, [&](const Span& span) { return span.begin < end && end <= span.end; });
      tokens.push_back(is_inside ? segments[i].id : as_context(segments[i].id));
    }
    place = end;
  }
  add_plain();
  return tokens;
}

// Returns the tokens of text without special tokens, which begins at byte `begin` of the chat.
std::vector<std::int32_t> ChatFormat::plain_tokens(std::string_view text, std::size_t begin,
                                                   const std::vector<Span>& learned) const {
  const std::vector<std::int32_t> ids = tokenizer_.encode(without_marks(std::string(text)));
  std::vector<std::int32_t> tokens(ids.size());
  std::ranges::transform(ids, tokens.begin(), as_context);
  // Returns how many of the ids are in the text before byte `end`, and if a token crosses it.
  const auto ids_before = [&](std::size_t end) {
    const std::vector<std::int32_t> part =
        tokenizer_.encode(without_marks(std::string(text.substr(0, end))));
    const auto same = std::ranges::mismatch(part, ids);
    return std::pair<Index, bool>(same.in2 - ids.begin(), same.in1 != part.end());
  };
  for (const Span& span : learned) {
    const std::size_t first = std::max(span.begin, begin) - begin;
    const std::size_t last = std::min(std::max(span.end, begin) - begin, text.size());
    if (first >= last) {
      continue;
    }
    const auto from = first == 0 ? 0 : ids_before(first).first;
    const auto [count, crosses] =
        last == text.size() ? std::pair<Index, bool>(std::ssize(ids), false) : ids_before(last);
    std::copy(ids.begin() + from, ids.begin() + count + (crosses ? 1 : 0), tokens.begin() + from);
  }
  return tokens;
}

}  // namespace headlight
