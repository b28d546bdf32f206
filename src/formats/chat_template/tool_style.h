#pragma once

#include <string_view>

namespace headlight {

// Format in which a model writes tool calls: JSON objects {"name": ..., "arguments": {...}}, with
// marks around them.
struct ToolStyle {
  std::string_view begin;                    // mark before a call, or before a list of calls
  std::string_view end;                      // mark after it; "": none
  std::string_view between = {};             // characters around the objects, besides blanks
  std::string_view arguments = "arguments";  // name of the member with the arguments
  bool is_list = false;                      // the objects are in one JSON list
  bool starts_bare = false;                  // a call may begin an answer without `begin`
  bool has_one_call = false;                 // the template takes one call in an answer
};

// Returns the style of the calls that a chat template writes; null if it writes none or in a format
// that ToolCallParser cannot read.
const ToolStyle* tool_style_of(std::string_view chat_template);

}  // namespace headlight
