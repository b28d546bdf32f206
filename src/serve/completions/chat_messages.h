#pragma once

#include <vector>

#include "headlight/formats/chat_template/chat_format.h"
#include "serve/request/fields.h"

namespace headlight::serve {

// Reads "messages". Tool calls and results are allowed if the chat template, for prompts with or
// without tools, has a known style of calls. Arguments of calls become objects, which chat
// templates expect; clients send them as texts. A template that does not write the calls of a
// message, such as Granite's, gets them in its content. Throws Error about "messages".
std::vector<ChatMessage> read_messages(Fields& fields, const ChatFormat& chat, bool has_tools);

}  // namespace headlight::serve
