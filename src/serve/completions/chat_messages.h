#pragma once

#include <vector>

#include "headlight/formats/chat_template/chat_format.h"
#include "serve/request/fields.h"

namespace headlight::serve {

// Reads "messages". `has_tools`: tool calls and results are allowed. Arguments of calls become
// objects, which chat templates expect; clients send them as texts. Throws Error about "messages".
std::vector<ChatMessage> read_messages(Fields& fields, bool has_tools);

}  // namespace headlight::serve
