#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/json.h"
#include "formats/chat_template/tool_style.h"

namespace headlight {

struct ToolCall {
  std::string name;       // "": more arguments of the call before
  std::string arguments;  // JSON object, or a piece of one
};

// Reads one call while it is generated.
class ToolCallReader {
 public:
  enum class State { unfinished, complete, broken };

  // `functions`: [{"name", "parameters"}]. With `in_pieces`, take() returns arguments before the
  // call is complete. The references must outlive this.
  ToolCallReader(const ToolStyle& style, const Json& functions, bool in_pieces)
      : style_(style), functions_(functions), in_pieces_(in_pieces) {}

  // Returns true if a call begins with `text`, false if none does; nothing if more text is needed.
  static std::optional<bool> begins(const ToolStyle& style, std::string_view text);
  // Reads on in the text of the call, which begins with everything that was read before. A call of
  // an unknown function, or one that does not follow the style, is broken. A begun call is complete
  // before a fault instead.
  State read(std::string_view text);
  // Returns the arguments that were read since the last take().
  std::optional<ToolCall> take();
  // Returns true if a piece of the call can be taken, or was.
  bool is_begun() const { return is_named_ && (in_pieces_ || is_complete_); }
  // Returns the number of bytes read; after a complete call its size.
  std::size_t size() const { return read_; }

 private:
  State read_name(std::string_view text);
  State read_object(std::string_view text);
  State read_parameters(std::string_view text);
  State read_parameter(std::string_view text);
  State end_object(std::string_view text);
  State end_before_fault();
  void find_arguments(std::string_view head);
  void give(std::string_view arguments);
  bool find_function(std::string_view name);
  bool has_object() const { return style_.name_end.empty(); }

  const ToolStyle& style_;
  const Json& functions_;
  bool in_pieces_;
  std::size_t read_ = 0;
  const Json* function_ = nullptr;  // null until the name is known
  ToolCall piece_;                  // not yet taken
  bool is_named_ = false;           // piece_ has, or had, the name
  bool is_complete_ = false;
  // Within an object.
  std::size_t object_ = 0;  // its first byte
  int depth_ = 0;
  bool in_string_ = false;
  bool is_escaped_ = false;
  bool has_nested_ = false;  // an object that may be the arguments was seen
  bool in_arguments_ = false;
  std::size_t given_ = 0;  // end of the arguments that give() had
  // Between parameters.
  std::size_t searched_ = 0;  // the value of a parameter does not end before
  std::set<std::string, std::less<>> keys_;
};

}  // namespace headlight
