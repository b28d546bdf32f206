#pragma once

#include <string>
#include <string_view>

#include "headlight/base/index.h"

namespace headlight {

// U+FFFD in UTF-8: the replacement for invalid bytes.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// Throws Error "NAME: invalid UTF-8 at byte 1203" (counted from 0) if `text` is not UTF-8. Overlong
// forms, surrogates and values above U+10FFFF are invalid.
void require_utf8(std::string_view text, std::string_view name);
// As require_utf8(), but throws an Error about the value called `name`.
void require_utf8_value(std::string_view text, std::string_view name);

// Returns the number of bytes before the first invalid byte; text.size() if all are valid.
std::size_t valid_utf8_prefix(std::string_view text);

// Returns whether a byte continues a character.
inline bool is_utf8_continuation(char byte) { return (byte & 0xC0) == 0x80; }

// Returns the number of characters of valid UTF-8.
Index character_count(std::string_view text);

// The first character of a text.
struct Utf8Character {
  char32_t code_point = U'\uFFFD';  // U+FFFD if the bytes are invalid
  Index length = 0;                 // length in bytes, at least 1
  bool valid = false;
  bool cut = false;  // invalid only because the text ends: more bytes could complete it
};

// Returns the first character of `text`, which must not be empty. Invalid bytes form maximal
// subparts, each replaced by one U+FFFD, as in browsers, Rust and Python (Unicode 15, section 3.9,
// table 3-8). To iterate, remove `length` bytes and call again.
Utf8Character first_character(std::string_view text);

// Appends the UTF-8 of a code point. Throws Error for surrogates and values above U+10FFFF.
void append_utf8(char32_t code_point, std::string& text);

// Returns the number of bytes before a character that the end of the text cuts. Text that follows
// cannot change the meaning of these bytes.
Index complete_utf8_prefix(std::string_view text);

// Returns `text` with U+FFFD in place of invalid bytes.
std::string replace_invalid_utf8(std::string_view text);

}  // namespace headlight
