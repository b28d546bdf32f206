#include "headlight/formats/chat_template/chat_format.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/strings/split.h"
#include "base/transformed.h"
#include "formats/chat_template/tail_match.h"
#include "formats/tokenizers/tokenizer_json.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"
#include "tokenizers/added_tokens.h"
#include "tokenizers/special_names.h"

namespace headlight {
namespace {

// Noncharacters of Unicode around names of special tokens in contents. Templates keep them, so that
// the names can be distinguished from the template's names.
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

}  // namespace

// A rendered chat without marks.
struct UnmarkedText {
  std::string text;
  std::vector<ByteRange> names;    // that were marked
  std::vector<std::size_t> marks;  // offsets in the marked text

  // Returns the offset of a byte of the marked text.
  std::size_t offset(std::size_t byte) const {
    const auto before = std::ranges::lower_bound(marks, byte) - marks.begin();
    return byte - static_cast<std::size_t>(before) * kNameStart.size();
  }
};

struct ChatTokens {
  UnmarkedText chat;
  std::vector<ByteRange> ranges;  // in the text of `chat`, one per token
  std::vector<std::int32_t> ids;
};

namespace {

UnmarkedText unmarked(std::string_view marked) {
  constexpr std::string_view kCommon = kNameStart.substr(0, 2);
  UnmarkedText result;
  bool is_open = false;
  for (std::size_t at = 0; at < marked.size();) {
    const std::size_t next = std::min(marked.find(kCommon, at), marked.size());
    const std::string_view found = marked.substr(next, kNameStart.size());
    result.text += marked.substr(at, next - at);
    at = next + found.size();
    if (is_open) {
      result.names.back().end = result.text.size();
    }
    if (found == kNameStart) {
      result.names.push_back({result.text.size(), result.text.size()});
    } else if (found != kNameEnd) {
      result.text += found;
      continue;
    }
    result.marks.push_back(next);
    is_open = found == kNameStart;
  }
  return result;
}

void require_no_marks(std::string_view text, const char* about) {
  require_value(unmarked(text).marks.empty(), about, "expected no noncharacters U+FDD0 and U+FDD1");
}

// Returns the end of the last message's content in a rendered chat. Templates may trim it.
std::size_t end_of(std::string_view content, std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  const std::size_t begin = std::min(content.find_first_not_of(kBlanks), content.size());
  const std::string_view untrimmed = content.substr(begin);
  const std::string_view trimmed = untrimmed.substr(0, untrimmed.find_last_not_of(kBlanks) + 1);
  require_value(!trimmed.empty(), "messages", "expected a last message with text to continue");
  const std::size_t position = text.rfind(trimmed);
  require_value(position != std::string_view::npos, "messages",
                "the chat template leaves out the last message: it cannot be continued");
  const bool keeps_blanks = text.substr(position).starts_with(untrimmed);
  return position + (keeps_blanks ? untrimmed : trimmed).size();
}

// Returns the number of equal bytes at the beginning of both texts.
std::size_t common_length(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Returns the largest length up to `length` that ends in no name of a special token.
std::size_t before_cut(const std::vector<TextSegment>& segments, std::size_t length) {
  for (const TextSegment& segment : segments) {
    if (segment.id >= 0) {
      const auto begin = static_cast<std::size_t>(segment.name.data() - segments[0].text.data());
      if (begin < length && length < begin + segment.name.size()) {
        return begin;
      }
    }
  }
  return length;
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

// Returns the tokens of a chat. Tokens without a byte in the ranges `learned`, which are in order,
// are context.
std::vector<std::int32_t> learned_tokens(const ChatTokens& whole,
                                         const std::vector<ByteRange>& learned) {
  const std::vector<ByteRange>& ranges = whole.ranges;
  std::vector<std::int32_t> tokens = whole.ids;
  auto span = learned.begin();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::size_t begin = ranges[i].begin;
    const std::size_t end = std::max(ranges[i].end, begin + 1);  // inserted: of the next byte
    while (span != learned.end() && span->end <= begin) {
      ++span;
    }
    if (span == learned.end() || end <= span->begin) {
      tokens[i] = as_context(tokens[i]);
    }
  }
  return tokens;
}

// Returns whether a tokenizer may drop blanks at the end of a text, as with the normalizer Strip.
bool may_drop_last_blanks(const Tokenizer& tokenizer) {
  try {
    const std::vector<std::int32_t> alone = tokenizer.encode("a");
    return tokenizer.encode("a ") == alone || tokenizer.encode("a\n") == alone;
  } catch (const Error&) {
    return true;  // no token stands for "a", a blank or unknown words
  }
}

std::vector<std::string> template_names(const ChatTemplates& templates) {
  return transformed(templates.by_name(), [](const auto& one) { return escaped(one.first); });
}

}  // namespace

ChatFormat::ChatFormat(const ChatTemplates& templates, const Tokenizer& tokenizer)
    : tokenizer_(tokenizer),
      special_(std::make_shared<AddedTokenMatcher>(special_tokens_of(tokenizer))) {
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
  main_ = form_of(templates.chosen(false));
  if (templates.chosen(true) != templates.chosen(false)) {
    tool_use_ = form_of(templates.chosen(true));
  }
  if (templates.chosen(false) == nullptr && !templates.empty()) {
    main_.problem =
        concat_text("this model has chat templates named ", joined(template_names(templates), ", "),
                    ", but none named default: choose one with --chat_template");
  }
  if (splits_special_tokens(tokenizer) && !templates.empty()) {
    main_.problem =
        "tokenizer_config.json has split_special_tokens = true, so that special tokens of the chat "
        "template would be plain text; set it to false";
    tool_use_.reset();
  }
}

// Reads a template; null: there is none.
ChatFormat::Form ChatFormat::form_of(const std::string* source) {
  Form form;
  if (source == nullptr) {
    form.problem = "this model has no chat template";
    return form;
  }
  try {
    form.program.emplace(*source);
    set_turn_end(form);
  } catch (const Error& error) {
    form.problem = concat_text("the model's ", error.what());
  }
  return form;
}

std::string_view ChatFormat::source(bool has_tools) const {
  const Form& chosen = form(has_tools);
  return chosen.problem.empty() ? chosen.program->source() : std::string_view();
}

std::string ChatFormat::rendered(const std::vector<ChatMessage>& messages,
                                 bool add_generation_prompt, const std::string& tools,
                                 const std::string& variables) const {
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
  std::string all = variables_;
  if (!variables.empty()) {
    Json more = parse_json(variables_, "variables");
    more.update(marked(variables, "variables"));
    all = more.dump();
  }
  return rendered(form(!tools.empty()),
                  {.messages = list.dump(),
                   .tools = tools.empty() ? "" : marked(tools, "tools").dump(),
                   .variables = std::move(all),
                   .add_generation_prompt = add_generation_prompt});
}

std::string ChatFormat::rendered(const Form& form, const ChatTemplateInput& input) const {
  try {
    return form.program->render(input);
  } catch (const Error& error) {
    fail_value("messages", error.what());
  }
}

// Returns a chat of one question and this answer; "" if the template refuses it, since it may
// accept others.
std::string ChatFormat::one_turn(const Form& form, const std::string& answer) const {
  const Json chat = Json::array(
      {{{"role", "user"}, {"content", "Hi"}}, {{"role", "assistant"}, {"content", answer}}});
  try {
    return form.program ? rendered(form, {.messages = chat.dump(),
                                          .variables = variables_,
                                          .add_generation_prompt = false})
                        : std::string();
  } catch (const Error&) {
    return {};
  }
}

std::vector<std::string> ChatFormat::missing_names() const {
  std::vector<std::string> names;
  const std::string text = one_turn(main_, "Hi") + (tool_use_ ? one_turn(*tool_use_, "Hi") : "");
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

// Finds the text after the content of a last answer, and the special token in it.
void ChatFormat::set_turn_end(Form& form) {
  constexpr std::string_view kAnswer = "ANSWER";
  const std::string text = one_turn(form, std::string(kAnswer));
  const std::size_t position = text.rfind(kAnswer);
  form.turn_ending = position == std::string::npos ? "" : text.substr(position + kAnswer.size());
  for (const TextSegment& segment : special_->split(form.turn_ending, true)) {
    if (segment.id >= 0) {
      if (std::ranges::find(end_tokens_, segment.id) == end_tokens_.end()) {
        end_tokens_.push_back(segment.id);
      }
      return;
    }
  }
}

void ChatFormat::check(const std::vector<ChatMessage>& messages, bool has_tools) const {
  require_value(problem(has_tools).empty(), "messages", problem(has_tools));
  for (const ChatMessage& message : messages) {
    require_utf8_value(message.content, "messages");
    require_no_marks(message.content, "messages");
  }
}

UnmarkedText ChatFormat::prompt(const std::vector<ChatMessage>& messages, ChatPrompt end,
                                const std::string& tools, std::string_view begun,
                                const std::string& variables) const {
  check(messages, !tools.empty());
  std::string text = rendered(messages, end == ChatPrompt::new_answer, tools, variables);
  if (end == ChatPrompt::last_answer) {
    require_value(!messages.empty(), "messages", "expected a message to continue, got none");
    text.resize(end_of(with_marked_names(*special_, messages.back().content), text));
  }
  return unmarked(text += begun);
}

std::vector<std::int32_t> ChatFormat::encode(const std::vector<ChatMessage>& messages,
                                             ChatPrompt end, const std::string& tools,
                                             std::string_view begun,
                                             const std::string& variables) const {
  return encoded(prompt(messages, end, tools, begun, variables), nullptr);
}

std::string ChatFormat::prompt_text(const std::vector<ChatMessage>& messages, ChatPrompt end,
                                    const std::string& tools, std::string_view begun,
                                    const std::string& variables) const {
  return prompt(messages, end, tools, begun, variables).text;
}

std::vector<std::int32_t> ChatFormat::encode_for_training(const std::vector<ChatMessage>& messages,
                                                          Learn learn,
                                                          const std::string& tools) const {
  check(messages, !tools.empty());
  const Chat chat{messages, tools, rendered(messages, false, tools)};
  if (learn == Learn::all) {
    return encoded(unmarked(chat.text), nullptr);
  }
  const ChatTokens whole = tokens_of(chat);
  return learned_tokens(whole, learned_spans(chat, whole, learn));
}

std::string ChatFormat::whole_text(const std::vector<ChatMessage>& messages,
                                   const std::string& tools) const {
  check(messages, !tools.empty());
  return unmarked(rendered(messages, false, tools)).text;
}

// `ranges`: see EncodeOptions.
std::vector<std::int32_t> ChatFormat::encoded(const UnmarkedText& chat,
                                              std::vector<ByteRange>* ranges) const {
  const bool reads_names = tokenizer_.reads_special();
  return tokenizer_.encode_bytes(
      chat.text, {.read_special = true,
                  .plain = reads_names ? std::span<const ByteRange>() : std::span(chat.names),
                  .ranges = ranges});
}

ChatTokens ChatFormat::tokens_of(const Chat& chat) const {
  ChatTokens result{unmarked(chat.text), {}, {}};
  result.ids = encoded(result.chat, &result.ranges);
  return result;
}

std::vector<std::int32_t> ChatFormat::encode_completion(const std::vector<ChatMessage>& messages,
                                                        std::size_t prompt_messages,
                                                        const std::string& tools) const {
  check(messages, !tools.empty());
  require_value(prompt_messages < messages.size(), "messages",
                "expected a message after the prompt, got none");
  const Chat chat{messages, tools, rendered(messages, false, tools)};
  const std::string before = prompt_of(chat, prompt_messages);
  const ByteRange answer = answer_span(chat, prompt_messages, before);
  const ChatTokens whole = tokens_of(chat);
  const std::string& text = whole.chat.text;
  std::vector<std::int32_t> tokens =
      learned_tokens(whole, {{whole.chat.offset(answer.begin), text.size()}});
  const UnmarkedText prompt = unmarked(before);
  if (text.starts_with(prompt.text)) {
    // Tokens that the prompt alone does not have belong to the completion, as in TRL.
    const std::vector<std::int32_t> alone = encoded(prompt, nullptr);
    const auto is_same = [](std::int32_t token, std::int32_t id) { return id_of(token) == id; };
    const auto differs =
        std::mismatch(tokens.begin(), tokens.end(), alone.begin(), alone.end(), is_same).first;
    std::transform(differs, tokens.end(), differs, id_of);
  }
  return tokens;
}

// Finds the answers of the assistant that are to be learned, in the chat without marks.
std::vector<ByteRange> ChatFormat::learned_spans(const Chat& chat, const ChatTokens& whole,
                                                 Learn learn) const {
  std::vector<ByteRange> spans;
  const bool may_drop_blanks = may_drop_last_blanks(tokenizer_);
  bool is_last = true;
  for (std::size_t i = chat.messages.size(); i-- > 0;) {
    if (chat.messages[i].role != "assistant") {
      continue;
    }
    if (chat.messages[i].is_learned && (is_last || learn != Learn::last)) {
      const std::string before = i == 0 ? "" : prompt_of(chat, i);
      const ByteRange answer = answer_span(chat, i, before);
      const std::size_t begin = whole.chat.offset(answer.begin);
      spans.push_back({may_drop_blanks ? learned_begin(whole, before, begin) : begin,
                       whole.chat.offset(answer.end)});
    }
    is_last = false;
  }
  std::ranges::reverse(spans);
  return spans;
}

// Returns where learning of an answer begins: at blanks before it if the prompt alone has no token
// of them, since a normalizer drops blanks at the end of a text. The model must write them then.
std::size_t ChatFormat::learned_begin(const ChatTokens& whole, const std::string& before,
                                      std::size_t begin) const {
  const UnmarkedText prompt = unmarked(before);
  if (prompt.text.size() != begin || !whole.chat.text.starts_with(prompt.text)) {
    return begin;
  }
  const std::vector<std::int32_t> alone = encoded(prompt, nullptr);
  const bool continues =
      alone.size() < whole.ids.size() && std::equal(alone.begin(), alone.end(), whole.ids.begin());
  return continues ? std::min(begin, whole.ranges[alone.size()].begin) : begin;
}

// Returns the prompt of message `i`.
std::string ChatFormat::prompt_of(const Chat& chat, std::size_t i) const {
  return rendered(first_messages(chat.messages, i), true, chat.tools);
}

// Returns the position of message `i`, an answer after `prompt`, with the end of its turn.
ByteRange ChatFormat::answer_span(const Chat& chat, std::size_t i,
                                  const std::string& prompt) const {
  const std::string marked = with_marked_names(*special_, chat.messages[i].content);
  const std::string_view kept = kept_part(marked);
  ByteRange span{.begin = answer_begin(chat, i, kept, prompt), .end = chat.text.size()};
  if (i + 1 < chat.messages.size()) {
    span.end = answer_end(chat, i, kept, span.begin);
  }
  require_value(part_of(chat.text, span.begin, span.end).find(kept) != std::string_view::npos,
                "messages", "the chat template does not keep message ", i + 1,
                " as it is, so that it cannot be learned alone; learn all tokens");
  return span;
}

// Returns the end of the prompt of message `i`.
std::size_t ChatFormat::answer_begin(const Chat& chat, std::size_t i, std::string_view kept,
                                     const std::string& prompt) const {
  if (i == 0) {
    return std::min(chat.text.find(kept), chat.text.size());
  }
  const std::vector<ChatMessage> before = first_messages(chat.messages, i);
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
  const std::string& ending = form(!chat.tools.empty()).turn_ending;
  const std::string_view body =
      whole.substr(0, whole.size() - (whole.ends_with(ending) ? ending.size() : 0));
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
  const std::vector<TextSegment> default_ending = special_->split(ending, true);
  const bool is_other = !found.empty() && !default_ending.empty() && found.front().id >= 0 &&
                        default_ending.front().id >= 0 &&
                        found.front().id != default_ending.front().id;
  return is_other ? found.front().text.size()
                  : before_cut(default_ending, before_cut(found, common_length(ending, text)));
}

}  // namespace headlight
