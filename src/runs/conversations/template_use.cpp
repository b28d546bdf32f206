#include "runs/conversations/template_use.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/json.h"
#include "base/strings/split.h"
#include "headlight/base/error.h"
#include "runs/conversations/record_keys.h"

namespace headlight {
namespace {

using Messages = std::vector<ChatMessage>;

constexpr auto kUsualRoles =
    std::to_array<std::string_view>({"system", "developer", "user", "assistant", "tool"});

bool is_default(const std::string& role) {
  return std::ranges::find(kUsualRoles, role) != kUsualRoles.end();
}

ChatMessage without_member(ChatMessage message, const std::string& key) {
  const Json more = parse_json(message.more, "messages");
  Json rest = Json::object();
  for (const JsonMember& member : more.members()) {
    if (member.key != key) {
      rest.add(member.key, member.value);
    }
  }
  message.more = rest.dump();
  return message;
}

// True if the template writes the same text for both. One that refuses the others reads the text
// that they lack.
bool is_same_text(const ChatFormat& format, const Messages& messages, const std::string& tools,
                  const Messages& others, const std::string& other_tools) {
  const std::string text = format.whole_text(messages, tools);
  try {
    return format.whole_text(others, other_tools) == text;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string nonstandard_roles(const Messages& messages) {
  std::set<std::string> roles;
  for (const ChatMessage& message : messages) {
    if (!is_default(message.role)) {
      roles.insert(quoted_text(message.role));
    }
  }
  return joined({roles.begin(), roles.end()}, ", ");
}

void TemplateUse::look(const Messages& messages, const std::string& tools) {
  if (!tools.empty() && seen_.insert("tools").second &&
      is_same_text(format_, messages, tools, messages, "")) {
    unread_.insert("tools");
  }
  for (const ChatMessage& message : messages) {
    if (!message.content.empty() && seen_.insert("role " + message.role).second) {
      test_role(message.role, messages, tools);
    }
    if (message.more == "{}") {
      continue;
    }
    const Json more = parse_json(message.more, "messages");
    for (const JsonMember& member : more.members()) {
      if (!is_blank_value(member.value) && seen_.insert("member " + member.key).second) {
        test_member(member.key, messages, tools);
      }
    }
  }
}

void TemplateUse::test_member(const std::string& key, const Messages& messages,
                              const std::string& tools) {
  Messages others;
  for (const ChatMessage& message : messages) {
    others.push_back(without_member(message, key));
  }
  if (is_same_text(format_, messages, tools, others, tools)) {
    require(key != "tool_calls",
            "the chat template writes no \"tool_calls\": they would be lost; choose another one "
            "with --chat_template, such as hermes");
    unread_.insert("messages: " + key);
  }
}

void TemplateUse::test_role(const std::string& role, const Messages& messages,
                            const std::string& tools) {
  Messages others = messages;
  for (ChatMessage& message : others) {
    message.content += message.role == role ? "#" : "";
  }
  if (is_same_text(format_, messages, tools, others, tools)) {
    require(is_default(role) && role != "assistant",
            "the chat template leaves out messages of the role ", quoted_text(role));
    unread_.insert("messages of the role " + role);
  }
}

}  // namespace headlight
