#include "runs/conversations/chat_record.h"

#include <algorithm>
#include <array>
#include <utility>

#include "formats/chat_template/text_parts.h"
#include "headlight/base/error.h"
#include "runs/conversations/record_keys.h"

namespace headlight {
namespace {

// Roles of other programs by their usual names.
constexpr auto kChatRoles =
    std::to_array<std::pair<std::string_view, std::string_view>>({{"human", "user"},
                                                                  {"prompter", "user"},
                                                                  {"gpt", "assistant"},
                                                                  {"bot", "assistant"},
                                                                  {"model", "assistant"},
                                                                  {"chatgpt", "assistant"},
                                                                  {"bing", "assistant"},
                                                                  {"bard", "assistant"},
                                                                  {"observation", "tool"}});

std::string default_role(const std::string& role, const std::string& where) {
  require(role != "function_call", where,
          ": the role function_call is not supported; write the call as \"tool_calls\" of the "
          "assistant");
  const auto found =
      std::ranges::find(kChatRoles, role, &std::pair<std::string_view, std::string_view>::first);
  return found == kChatRoles.end() ? role : std::string(found->second);
}

// Returns a text, or the joined texts of a list of parts.
std::string content_text(const Json& value, const std::string& key, const std::string& where) {
  if (value.is_array()) {
    std::string all;
    for (const Json& part : value) {
      const std::string* text = text_part(part, "text", {"text"});
      require(text != nullptr, where, ": ", quoted_text(key),
              " is a list of parts: expected {\"type\": \"text\", \"text\": ...} alone, since "
              "models here read text alone");
      all += *text;
    }
    return all;
  }
  require(value.is_string(), where, ": ", quoted_text(key), " must be a string, got ",
          value.type_name());
  return value.text();
}

// Reads the members of a message.
class MessageReader {
 public:
  MessageReader(const Json& message, std::string where)
      : message_(message), where_(std::move(where)) {}

  ChatMessage read() {
    require(message_.is_object(), where_, ": expected an object, got ", message_.type_name());
    Json more = Json::object();
    for (const JsonMember& member : message_.members()) {
      const MemberPart part = member_part(member.key);
      if (part == MemberPart::other) {
        more.add(member.key, member.value);
      } else if (part == MemberPart::refused) {
        refuse_member(member, where_);
      }
    }
    const JsonMember& role = needed(MemberPart::role, "role");
    require(role.value.is_string(), where_, ": ", quoted_text(role.key), " must be a string, got ",
            role.value.type_name());
    ChatMessage result{
        .role = default_role(role.value.text(), where_), .content = content(), .more = more.dump()};
    result.is_learned = is_learned(result.role);
    return result;
  }

 private:
  // Returns the first member of a part that says something, else the first, or nullptr.
  const JsonMember* find(MemberPart part) const {
    const JsonMember* found = nullptr;
    for (const JsonMember& member : message_.members()) {
      if (member_part(member.key) == part &&
          (found == nullptr || (found->value.is_null() && !member.value.is_null()))) {
        found = &member;
      }
    }
    return found;
  }

  const JsonMember& needed(MemberPart part, const char* key) const {
    const JsonMember* found = find(part);
    require(found != nullptr, where_, ": key ", quoted_text(key), " is missing");
    return *found;
  }

  // Messages with calls of tools need no text.
  std::string content() const {
    const JsonMember* found = find(MemberPart::content);
    const Json* calls = message_.find("tool_calls");
    if (calls != nullptr && calls->is_array() && !calls->empty() &&
        (found == nullptr || found->value.is_null())) {
      return "";
    }
    const JsonMember& member = needed(MemberPart::content, "content");
    return content_text(member.value, member.key, where_);
  }

  // Returns false if a member says that the message is not learned.
  bool is_learned(const std::string& role) const {
    bool learned = true;
    for (const JsonMember& member : message_.members()) {
      const bool is_hidden = member_part(member.key) == MemberPart::hidden;
      if ((member_part(member.key) != MemberPart::learned && !is_hidden) ||
          member.value.is_null()) {
        continue;
      }
      const bool is_yes = is_hidden ? is_negative(member.value) : is_affirmative(member.value);
      require(is_yes || is_negative(member.value) || is_affirmative(member.value), where_, ": ",
              quoted_text(member.key), ": expected 0 or 1, or true or false, got ",
              member.value.dump().substr(0, 40));
      require(!is_yes || role == "assistant", where_, ": ", quoted_text(member.key), ": ",
              member.value.dump(), " of a message with the role ", quoted_text(role),
              ": only answers of the assistant can be learned");
      learned = learned && is_yes;
    }
    return learned;
  }

  const Json& message_;
  std::string where_;
};

std::vector<ChatMessage> read_messages(const Json& list, const std::string& where) {
  std::vector<ChatMessage> messages;
  for (std::size_t i = 0; i < list.size(); ++i) {
    messages.push_back(MessageReader(list[i], concat_text(where, ": message ", i + 1)).read());
  }
  return messages;
}

bool has_role(const std::vector<ChatMessage>& messages, std::string_view role) {
  return std::ranges::find(messages, role, &ChatMessage::role) != messages.end();
}

bool is_same_message(const ChatMessage& a, const ChatMessage& b) {
  return a.role == b.role && a.content == b.content && a.more == b.more;
}

// Moves the messages that both answers begin with to the prompt.
void split_prompt(ChatRecord& pair) {
  std::vector<ChatMessage>& chosen = pair.answers[0].messages;
  std::vector<ChatMessage>& rejected = pair.answers[1].messages;
  const auto end = std::ranges::mismatch(chosen, rejected, is_same_message);
  pair.messages.assign(chosen.begin(), end.in1);
  chosen.erase(chosen.begin(), end.in1);
  rejected.erase(rejected.begin(), end.in2);
}

// Reads the parts of one record.
class RecordReader {
 public:
  // `record`: see unpacked_record(); must outlive the reader.
  RecordReader(const Json& record, const std::string& list_key, const std::string& where)
      : keys_(record, list_key, where), where_(where), has_key_(!list_key.empty()) {}

  ConversationKind kind(bool is_visible) const {
    const auto has = [&](RecordPart one, RecordPart other) {
      return !has_key_ && keys_.has(one) && keys_.has(other);
    };
    if (has(RecordPart::chosen, RecordPart::rejected)) {
      return ConversationKind::pairs;
    }
    const bool is_one =
        has_messages() ||
        (!is_visible && (has(RecordPart::prompt, RecordPart::completion) ||
                         has(RecordPart::request, RecordPart::answer) ||
                         (has(RecordPart::input, RecordPart::answer) && says(RecordPart::input))));
    return is_one ? ConversationKind::conversations : ConversationKind::none;
  }

  ChatRecord read(ConversationKind kind, std::set<std::string>& ignored) {
    ChatRecord record{.kind = kind};
    if (kind == ConversationKind::pairs) {
      read_pair(record);
    } else if (has_messages()) {
      record.messages = read_messages(*keys_.take(RecordPart::messages), where_);
    } else if (!has_key_ && keys_.has(RecordPart::prompt) && keys_.has(RecordPart::completion)) {
      read_completion(record);
    } else {
      read_request(record);
      record.messages.push_back({"assistant", text_of(RecordPart::answer)});
    }
    finish(record, ignored);
    return record;
  }

  ChatRecord read_prompt(std::set<std::string>& ignored) {
    ChatRecord record;
    if (has_messages()) {
      record.messages = read_messages(*keys_.take(RecordPart::messages), where_);
      while (!record.messages.empty() && record.messages.back().role == "assistant") {
        record.messages.pop_back();
      }
    } else if (const Json* given = keys_.take(RecordPart::prompt); given != nullptr) {
      record.is_text = !given->is_array();
      record.is_text ? void(record.prompt = text_of(RecordPart::prompt))
                     : void(record.messages = read_messages(*given, where_of(RecordPart::prompt)));
    } else {
      require(keys_.has(RecordPart::request) || keys_.has(RecordPart::input), where_,
              ": expected a text, or an object with \"prompt\", \"text\", \"messages\" or "
              "\"instruction\"");
      read_request(record);
    }
    finish(record, ignored);
    return record;
  }

 private:
  bool has_messages() const {
    const Json* list = keys_.peek(RecordPart::messages);
    return list != nullptr && list->is_array();
  }

  bool says(RecordPart part) const {
    const Json* value = keys_.peek(part);
    return value != nullptr && !is_blank_value(*value);
  }

  std::string where_of(RecordPart part) const {
    return where_ + ": " + quoted_text(keys_.name_of(part));
  }

  // Returns the text of a part. Throws Error if it is missing or no text.
  std::string text_of(RecordPart part) {
    const std::string key = keys_.name_of(part);
    const Json* value = keys_.take(part);
    require(value != nullptr && value->is_string(), where_, ": ", quoted_text(key),
            " must be a string, got ", value == nullptr ? "none" : value->type_name());
    return value->text();
  }

  // Returns the text of a part; "" if there is none.
  std::string optional_text(RecordPart part) {
    keys_.take(part);
    return says(part) ? text_of(part) : "";
  }

  // Reads a user's request, with the conversation before it.
  void read_request(ChatRecord& record) {
    if (says(RecordPart::history)) {
      read_history(*keys_.take(RecordPart::history), record);
    }
    const std::string more = optional_text(RecordPart::input);
    const std::string asked = keys_.has(RecordPart::request) ? text_of(RecordPart::request) : "";
    const std::string between = asked.empty() || more.empty() ? "" : "\n\n";
    record.messages.push_back({"user", asked + between + more});
  }

  void read_history(const Json& turns, ChatRecord& record) {
    const std::string where = where_of(RecordPart::history);
    require(turns.is_array(), where, " must be a list of pairs of request and answer, got ",
            turns.type_name());
    for (const Json& turn : turns) {
      require(turn.is_array() && turn.size() == 2 && turn[0].is_string() && turn[1].is_string(),
              where, ": expected pairs of request and answer, got ", turn.dump().substr(0, 40));
      record.messages.push_back({"user", turn[0].text()});
      record.messages.push_back({"assistant", turn[1].text()});
    }
  }

  void read_completion(ChatRecord& record) {
    const Json& given = *keys_.peek(RecordPart::prompt);
    record.is_text = !given.is_array();
    if (record.is_text) {
      record.prompt = text_of(RecordPart::prompt);
      record.answers.push_back({.text = text_of(RecordPart::completion)});
      return;
    }
    record.messages = read_messages(*keys_.take(RecordPart::prompt), where_);
    const Json& answer = *keys_.take(RecordPart::completion);
    require(answer.is_array(), where_,
            ": \"completion\" must be a list of messages, as \"prompt\"");
    record.answers.push_back({.messages = read_messages(answer, where_)});
  }

  void read_pair(ChatRecord& record) {
    const bool is_text = !is_list(*keys_.peek(RecordPart::chosen));
    require(is_text == !is_list(*keys_.peek(RecordPart::rejected)), where_, ": ",
            quoted_text(keys_.name_of(RecordPart::chosen)), " and ",
            quoted_text(keys_.name_of(RecordPart::rejected)),
            " must both be texts or both be lists of messages");
    for (const RecordPart part : {RecordPart::chosen, RecordPart::rejected}) {
      record.answers.push_back(is_text ? ChatRecord::Answer{.text = text_of(part)}
                                       : ChatRecord::Answer{.messages = answer_messages(part)});
    }
    if (is_text) {
      read_prompt_of_texts(record);
    } else {
      read_prompt_of_messages(record);
    }
  }

  static bool is_list(const Json& answer) { return answer.is_array() || answer.is_object(); }

  std::vector<ChatMessage> answer_messages(RecordPart part) {
    const std::string where = where_of(part);
    const Json& value = *keys_.take(part);
    return value.is_array() ? read_messages(value, where)
                            : std::vector{MessageReader(value, where).read()};
  }

  // Reads the question of two answers in text. Without a prompt, both begin with it.
  void read_prompt_of_texts(ChatRecord& record) {
    if (keys_.has(RecordPart::prompt) || !read_question(record)) {
      record.is_text = true;
      record.prompt = keys_.has(RecordPart::prompt) ? text_of(RecordPart::prompt) : "";
      return;
    }
    for (ChatRecord::Answer& answer : record.answers) {
      answer.messages.push_back({"assistant", std::exchange(answer.text, {})});
    }
  }

  // Reads messages or a request; returns false if there is neither.
  bool read_question(ChatRecord& record) {
    if (has_messages() && says(RecordPart::messages)) {
      record.messages = read_messages(*keys_.take(RecordPart::messages), where_);
      return true;
    }
    const bool has_request = says(RecordPart::request) || says(RecordPart::input);
    if (has_request) {
      read_request(record);
    }
    return has_request;
  }

  // Reads the question of two lists of messages. Without a prompt, both begin with it.
  void read_prompt_of_messages(ChatRecord& record) {
    const Json* given = keys_.take(RecordPart::prompt);
    if (given != nullptr && given->is_array()) {
      record.messages = read_messages(*given, where_of(RecordPart::prompt));
      return;
    }
    const auto asks = [](const ChatRecord::Answer& answer) {
      return has_role(answer.messages, "user");
    };
    const bool has_question = std::ranges::any_of(record.answers, asks);
    if (given == nullptr) {
      if (has_question || !read_question(record)) {
        split_prompt(record);
      }
      return;
    }
    const std::string text = text_of(RecordPart::prompt);
    if (!has_question) {
      record.messages = {{"user", text}};
      return;
    }
    for (const RecordPart part : {RecordPart::chosen, RecordPart::rejected}) {
      const auto& list = record.answers[part == RecordPart::chosen ? 0 : 1].messages;
      require(std::ranges::find(list, text, &ChatMessage::content) != list.end(), where_of(part),
              " must contain the text of \"prompt\" as a message");
    }
    split_prompt(record);
  }

  // Reads the parts that every record may have, and names the others.
  void finish(ChatRecord& record, std::set<std::string>& ignored) {
    add_system(record);
    record.tools = read_tools();
    if (says(RecordPart::only_last)) {
      const Json& last = *keys_.take(RecordPart::only_last);
      require(is_affirmative(last) || is_negative(last), where_of(RecordPart::only_last),
              ": expected true or false, got ", last.dump().substr(0, 40));
      record.only_last = is_affirmative(last);
    }
    keys_.finish(ignored);
  }

  void add_system(ChatRecord& record) {
    const std::string where = where_of(RecordPart::system);
    const std::string text = optional_text(RecordPart::system);
    if (text.empty()) {
      return;
    }
    require(!record.is_text, where,
            " needs a chat template, but the prompt is a text; write it as a list of messages");
    const bool has_system = has_role(record.messages, "system");
    require(!has_system || record.messages.front().content == text, where,
            ": the messages have another system message");
    if (!has_system) {
      record.messages.insert(record.messages.begin(), {"system", text});
    }
  }

  // Returns the functions that a record offers, a list or its JSON as text.
  std::string read_tools() {
    if (!says(RecordPart::tools)) {
      return {};
    }
    const std::string where = where_of(RecordPart::tools);
    const Json& given = *keys_.take(RecordPart::tools);
    const Json list = given.is_string() ? parse_json(given.text(), where) : given;
    require(list.is_array(), where, " must be a list of functions, got ", list.type_name());
    return list.empty() ? "" : list.dump();
  }

  RecordKeys keys_;
  std::string where_;
  bool has_key_;
};

}  // namespace

ConversationKind kind_of_record(const Json& record, const std::string& list_key,
                                const std::string& where) {
  if (!record.is_object()) {
    return ConversationKind::none;
  }
  const Json unpacked = unpacked_record(record, where);
  return RecordReader(unpacked, list_key, where).kind(record.contains("text"));
}

ChatRecord read_chat_record(const Json& record, const std::string& list_key,
                            const std::string& where, std::set<std::string>& ignored) {
  const ConversationKind kind = kind_of_record(record, list_key, where);
  require(kind != ConversationKind::none, where,
          ": expected \"messages\", \"conversations\", \"prompt\" with \"completion\", "
          "\"instruction\" with \"output\", or \"chosen\" with \"rejected\"",
          list_key.empty() ? "" : ", and a list under " + quoted_text(list_key));
  const Json unpacked = unpacked_record(record, where);
  return RecordReader(unpacked, list_key, where).read(kind, ignored);
}

ChatRecord read_prompt_record(const Json& record, const std::string& where,
                              std::set<std::string>& ignored) {
  if (record.is_string()) {
    return {.is_text = true, .prompt = record.text()};
  }
  require(record.is_object(), where, ": expected a text or an object, got ", record.type_name());
  const Json unpacked = unpacked_record(record, where);
  if (const Json* text = record.find("text"); text != nullptr && text->is_string()) {
    return {.is_text = true, .prompt = text->text()};
  }
  return RecordReader(unpacked, "", where).read_prompt(ignored);
}

}  // namespace headlight
