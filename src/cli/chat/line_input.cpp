#include "cli/chat/line_input.h"

#include <iostream>
#include <string_view>

#include "cli/terminal/terminal.h"
#include "headlight/base/error.h"
#include "headlight/base/utf8.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kLongest = std::size_t{1} << 20;  // bytes of a message
constexpr std::string_view kQuotes = "\"\"\"";

}  // namespace

LineInput::LineInput()
    : is_typed_(is_terminal(Stream::input) && can_redraw(Stream::output)),
      editor_(is_typed_ ? open_line_editor() : nullptr) {}

std::optional<TypedLine> LineInput::line(const std::string& prompt) {
  if (editor_) {
    return editor_->line(prompt);
  }
  if (is_typed_) {
    std::cout << prompt << std::flush;
  }
  std::string text;
  return std::getline(std::cin, text) ? std::optional(TypedLine{text}) : std::nullopt;
}

std::optional<std::string> LineInput::next() {
  std::string text;
  bool is_quoted = false;
  for (bool continues = false;; continues = true) {
    const std::optional<TypedLine> typed = line(continues ? ". " : "> ");
    if (!typed) {
      return continues ? std::optional(text) : std::nullopt;
    }
    if (typed->is_dropped) {
      return "";
    }
    std::string_view rest = typed->text;
    if (!continues && rest.starts_with(kQuotes)) {
      is_quoted = true;
      rest.remove_prefix(kQuotes.size());
    }
    const bool is_last = is_quoted ? rest.ends_with(kQuotes) : !rest.ends_with('\\');
    if (is_quoted == is_last) {
      rest.remove_suffix(is_quoted ? kQuotes.size() : 1);
    }
    text += rest;
    require(text.size() <= kLongest, "expected a message of at most ", kLongest, " bytes");
    if (is_last) {
      if (is_quoted && text.ends_with('\n')) {
        text.pop_back();  // of the line before the closing quotes
      }
      require_utf8(text, "the message");
      return text;
    }
    text += is_quoted && text.empty() ? "" : "\n";
  }
}

bool LineInput::confirm(const std::string& question) {
  const std::optional<TypedLine> typed = line(question + " [y/N] ");
  return typed && !typed->is_dropped && (typed->text == "y" || typed->text == "yes");
}

}  // namespace headlight::cli
