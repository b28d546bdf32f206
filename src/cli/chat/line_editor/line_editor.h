#pragma once

#include <memory>
#include <optional>
#include <string>

namespace headlight::cli {

// A line that a user typed in the terminal.
struct TypedLine {
  std::string text;         // without the line end
  bool is_dropped = false;  // ended by Ctrl-C
};

// Edits lines in the terminal, with a history.
class LineEditor {
 public:
  virtual ~LineEditor() = default;
  // Returns the next line; null at the end of the input.
  virtual std::optional<TypedLine> line(const std::string& prompt) = 0;
};

// Returns an editor for standard input and output; null if the build or the
// machine has no libedit.
std::unique_ptr<LineEditor> open_line_editor();

}  // namespace headlight::cli
