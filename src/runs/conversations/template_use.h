#pragma once

#include <set>
#include <string>
#include <vector>

#include "headlight/formats/chat_template/chat_format.h"

namespace headlight {

// Finds what conversations say and their chat template leaves out: members of messages, messages
// of a role, and tools. Renders a conversation again for each of these when it first occurs.
class TemplateUse {
 public:
  // The format must outlive this object.
  explicit TemplateUse(const ChatFormat& format) : format_(format) {}

  // Looks at a conversation. Throws Error about calls of tools, which are answers, about roles of
  // no usual name that are left out, and as ChatFormat::whole_text() does.
  void look(const std::vector<ChatMessage>& messages, const std::string& tools);
  // Returns names of what is left out: "tools", "messages: name", "messages of the role system".
  const std::set<std::string>& unread() const { return unread_; }

 private:
  void look_for_member(const std::string& key, const std::vector<ChatMessage>& messages,
                       const std::string& tools);
  void look_for_role(const std::string& role, const std::vector<ChatMessage>& messages,
                     const std::string& tools);

  const ChatFormat& format_;
  std::set<std::string> seen_;
  std::set<std::string> unread_;
};

// Returns roles of the messages that have no usual name, in quotes; "" if there are none.
std::string unusual_roles(const std::vector<ChatMessage>& messages);

}  // namespace headlight
