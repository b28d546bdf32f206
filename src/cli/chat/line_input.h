#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/chat/line_editor/line_editor.h"

namespace headlight::cli {

// Reads messages: in a terminal with a line editor, else line by line.
class LineInput {
 public:
  LineInput();

  // True if a user types the messages.
  bool is_typed() const { return is_typed_; }
  // Returns the next message without its line end; null at the end of the input. A line that ends
  // with a backslash continues in the next one; lines between """ are one message. Ctrl-C drops the
  // message; then the result is empty. Throws Error for a message that is not UTF-8 or longer than
  // 1 MiB.
  std::optional<std::string> next();
  // Asks a question, and returns whether the answer is yes.
  bool confirm(const std::string& question);

 private:
  std::optional<TypedLine> line(const std::string& prompt);

  bool is_typed_;
  std::unique_ptr<LineEditor> editor_;
};

}  // namespace headlight::cli
