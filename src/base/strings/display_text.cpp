#include "base/strings/display_text.h"

#include "headlight/base/utf8.h"

namespace headlight {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kNonJoiner = 0x200C;
constexpr char32_t kJoiner = 0x200D;

// Returns whether a character is invisible but changes the layout of its neighbours.
bool is_invisible_format(char32_t c) {
  return c == 0x00AD || c == 0x061C || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         (c >= 0xE0000 && c <= 0xE007F);
}

bool is_noncharacter(char32_t c) { return (c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF); }

char32_t printable(char32_t c) {
  if (c < 0x20 && c != '\n' && c != '\t') {
    return 0x2400 + c;
  }
  if (c == 0x7F) {
    return 0x2421;
  }
  return (c >= 0x80 && c < 0xA0) || is_noncharacter(c) ? kReplacement : c;
}

// Returns a name such as "U+202E".
std::string code_point_name(char32_t c) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string name = "U+";
  for (int shift = c > 0xFFFF ? 20 : 12; shift >= 0; shift -= 4) {
    name += kDigits[(c >> shift) & 0xF];
  }
  return name;
}

}  // namespace

std::u32string code_points(std::string_view text) {
  std::u32string points;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    points += character.code_point;
    text.remove_prefix(static_cast<std::size_t>(character.length));
  }
  return points;
}

std::string printable_text(std::string_view text) {
  std::string out;
  for (const char32_t c : code_points(text)) {
    append_utf8(printable(c), out);
  }
  return out;
}

std::string token_text(std::string_view token) {
  const std::u32string points = code_points(token);
  std::string out;
  for (const char32_t c : points) {
    const bool joins = (c == kNonJoiner || c == kJoiner) && points.size() > 1;
    if (is_invisible_format(c) && !joins) {
      out += code_point_name(c);
    } else {
      append_utf8(printable(c), out);
    }
  }
  return out;
}

std::string display_label(std::string_view token) {
  std::string out;
  for (const char32_t c : code_points(token_text(token))) {
    const bool blank = c == ' ' || c == 0x00A0 || c == 0x3000;
    append_utf8(blank ? U'·' : c == '\n' ? U'⏎' : c == '\t' ? U'⇥' : c, out);
  }
  return out.empty() ? "∅" : out;
}

}  // namespace headlight
