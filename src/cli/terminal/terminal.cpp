#include "cli/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "base/strings/display_text.h"

namespace headlight::cli {
namespace {

int descriptor_of(Stream stream) {
  switch (stream) {
    case Stream::input:
      return STDIN_FILENO;
    case Stream::output:
      return STDOUT_FILENO;
    case Stream::errors:
      return STDERR_FILENO;
  }
  return STDERR_FILENO;
}

// True if the terminal supports escape codes. TERM=dumb, as in editor shells, does not.
bool supports_escape_codes() {
  const char* kind = std::getenv("TERM");
  return kind == nullptr || std::string_view(kind) != "dumb";
}

}  // namespace

bool is_terminal(Stream stream) { return ::isatty(descriptor_of(stream)) == 1; }

void print_untrusted(std::string_view text) {
  if (is_terminal(Stream::output)) {
    std::cout << printable_text(text) << std::flush;
  } else {
    std::cout << text << std::flush;
  }
}

bool can_redraw(Stream stream) { return is_terminal(stream) && supports_escape_codes(); }

int columns_of(Stream stream, int fallback) {
  winsize size{};
  const bool known = ::ioctl(descriptor_of(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : fallback;
}

bool has_colours(Stream stream) {
  const char* refused = std::getenv("NO_COLOR");
  return can_redraw(stream) && (refused == nullptr || *refused == '\0');
}

// Reads "15;0" or "0;default;15": the last number is the background colour. Of 16 colours, 7 and 9
// to 15 are light.
bool has_light_background() {
  const char* colours = std::getenv("COLORFGBG");
  const std::string_view text(colours == nullptr ? "" : colours);
  const std::string_view ground = text.substr(text.find_last_of(';') + 1);
  constexpr std::array<std::string_view, 8> kLight{"7", "9", "10", "11", "12", "13", "14", "15"};
  return std::ranges::find(kLight, ground) != kLight.end();
}

}  // namespace headlight::cli
