#pragma once

#include <set>
#include <string>
#include <vector>

#include "headlight/formats/chat_template/chat_format.h"

namespace headlight {

// Finds parts of conversations that their chat template omits: members of messages, messages
// of a role, and tools. Renders a conversation again for each of these when it first occurs.
class TemplateUse {
 public:
  // The format must outlive this object.
  explicit TemplateUse(const ChatFormat& format) : format_(format) {}

  // Looks at a conversation. Throws Error about calls of tools, which are answers, about roles of
  // no usual name that are left out, and as ChatFormat::whole_text() does.
  void look(const std::vector<ChatMessage>& messages, const std::string& tools);
  // Returns names of the omitted parts: "tools", "messages: name", "messages of the role system".
  const std::set<std::string>& unread() const { return unread_; }

 private:
  void test_member(const std::string& key, const std::vector<ChatMessage>& messages,
                   const std::string& tools);
  void test_role(const std::string& role, const std::vector<ChatMessage>& messages,
                 const std::string& tools);

  const ChatFormat& format_;
  std::set<std::string> seen_;
  std::set<std::string> unread_;
};

// Returns roles of the messages that have no usual name, in quotes; "" if there are none.
std::string nonstandard_roles(const std::vector<ChatMessage>& messages);

}  // namespace headlight
