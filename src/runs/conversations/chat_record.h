#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "headlight/formats/chat_template/chat_format.h"

namespace headlight {

enum class ConversationKind {
  none,           // another file
  conversations,  // or prompts with their completions
  pairs,          // of answers: a preferred and a rejected one
};

// A conversation, whatever keys its record has: see record_keys.cpp.
struct ChatRecord {
  // An answer to the messages, or the text after the prompt.
  struct Answer {
    std::string text = {};
    std::vector<ChatMessage> messages = {};
  };

  ConversationKind kind = ConversationKind::conversations;
  bool is_text = false;     // texts that are joined as they are, without a chat template
  std::string prompt = {};  // if is_text
  std::vector<ChatMessage> messages = {};
  // None: a conversation whose messages have the answers. One: a completion. Two: the preferred
  // and the rejected answer.
  std::vector<Answer> answers = {};
  std::string tools = {};  // JSON list of functions; "": none
  bool only_last = false;  // only the last answer is learned
};

// Returns the kind of a record. `list_key`: key of the list of messages; empty: the usual ones.
// Throws Error "WHERE: ..." for a list in the notation of Python.
ConversationKind kind_of_record(const Json& record, const std::string& list_key,
                                const std::string& where);

// Reads a record. Adds the names of keys that say something but are not used to `ignored`. Throws
// Error "WHERE: ..." for a record of another kind, and for keys that can be neither obeyed nor
// ignored.
ChatRecord read_chat_record(const Json& record, const std::string& list_key,
                            const std::string& where, std::set<std::string>& ignored);

// Reads the prompt of a record, without its answer: a text, {"prompt": ...}, {"text": ...}, or any
// record of read_chat_record(), whose answers are left out.
ChatRecord read_prompt_record(const Json& record, const std::string& where,
                              std::set<std::string>& ignored);

}  // namespace headlight
