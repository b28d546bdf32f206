#pragma once

#include <string_view>

namespace headlight {

// Format in which a model writes tool calls, with marks around them. A call is
//
//   {"name": NAME, "arguments": {...}}      without name_end
//   name_begin NAME name_end {...}          with name_end
//   name_begin NAME name_end PARAMETERS     with has_parameters: <parameter=KEY>VALUE</parameter>
//                                           for each one, then </function>
struct ToolStyle {
  std::string_view begin;                    // mark before a call, or before a list of calls
  std::string_view end;                      // mark after it; "": none
  std::string_view between = {};             // characters around the calls, besides blanks
  std::string_view arguments = "arguments";  // name of the member with the arguments
  std::string_view name_begin = {};
  std::string_view name_end = {};
  std::string_view id_mark = {};  // mark between a name and the id of the call, which is ignored
  bool has_parameters = false;
  bool has_lines = false;     // marks and calls are on lines of their own
  bool is_list = false;       // the objects are in one JSON list
  bool starts_bare = false;   // a call may begin an answer without `begin`
  bool has_one_call = false;  // the template takes one call in an answer
};

// Characters that may stand around calls and inside them, as in JSON.
inline constexpr std::string_view kCallBlanks = " \t\n\r";

// Marks of calls with has_parameters.
inline constexpr std::string_view kParameterBegin = "<parameter=";
inline constexpr std::string_view kParameterNameEnd = ">";
inline constexpr std::string_view kParameterEnd = "</parameter>";
inline constexpr std::string_view kFunctionEnd = "</function>";

// Returns the style of the calls that a chat template writes; null if it writes none or in a format
// that ToolCallParser cannot read.
const ToolStyle* tool_style_of(std::string_view chat_template);

}  // namespace headlight
