#pragma once

#include <vector>

#include "base/json.h"
#include "formats/chat_template/tool_call_parser.h"
#include "headlight/formats/chat_template/chat_format.h"
#include "serve/request/fields.h"

namespace headlight::serve {

// Functions that a client lets the model call, and how the model may choose.
struct ToolsRequest {
  const ToolStyle* style = nullptr;  // null: the answer has no calls
  Json tools = {};                   // list for the chat template; null: none
  Json functions = Json::array();    // functions that may be called
  bool must_call = false;            // the answer is a call
  std::size_t most_calls = 1;

  ToolCallParser parser(bool in_pieces) const;
};

// Limit of functions in a request, as in OpenAI's API.
inline constexpr std::size_t kMostTools = 128;

// Reads "tools", "tool_choice" and "parallel_tool_calls". A forced answer has one call, unless the
// client asks for parallel calls: small models repeat them. Throws Error about one of them, also
// for tools whose calls the chat template does not write in a known style.
ToolsRequest read_tools(Fields& fields, const ChatFormat& chat);

// Returns the text with which a prompt must end before a call: ToolStyle::begin.
std::string begin_of_call(const ToolStyle& style);

// Returns the special tokens of the style: the parser must see their names.
std::vector<std::int32_t> tool_marks(const ToolStyle& style, const Tokenizer& tokenizer);

}  // namespace headlight::serve
