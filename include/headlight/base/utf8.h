#pragma once

#include <string>
#include <string_view>

#include "headlight/base/index.h"

namespace headlight {

// U+FFFD in UTF-8: stands for bytes that are no character.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// Throws Error "NAME: invalid UTF-8 at byte 1203" (counted from 0) when `text` is not UTF-8.
// Overlong forms, surrogates and values above U+10FFFF are not UTF-8.
void require_utf8(std::string_view text, std::string_view name);
// The same about the value called `name`.
void require_utf8_value(std::string_view text, std::string_view name);

// Number of bytes of `text` before the first that is not UTF-8: text.size() when all are.
std::size_t valid_utf8_prefix(std::string_view text);

// Bytes that go on with a character that began before.
inline bool is_utf8_continuation(char byte) { return (byte & 0xC0) == 0x80; }

// Of a text that is UTF-8.
Index character_count(std::string_view text);

// What stands at the beginning of a text.
struct Utf8Character {
  char32_t code_point = U'\uFFFD';  // U+FFFD when the bytes are no character
  Index length = 0;                 // bytes that it takes; at least 1
  bool valid = false;
  bool cut = false;  // not valid only because the text ends: more bytes could complete it
};

// The first character of `text`, which must not be empty. Bytes that are no character are taken in
// maximal subparts, as browsers, Rust and Python do (Unicode 15, section 3.9, table 3-8): one
// replacement character stands for each. To walk a text, remove `length` bytes and ask again.
Utf8Character first_character(std::string_view text);

// Appends the UTF-8 of a code point. Throws Error when it is none (surrogate or above U+10FFFF).
void append_utf8(char32_t code_point, std::string& text);

// Number of bytes of `text` before a character that is cut by the end of the text: those bytes mean
// the same whatever follows.
Index complete_utf8_prefix(std::string_view text);

// `text` with U+FFFD in the place of bytes that are no character.
std::string replace_invalid_utf8(std::string_view text);

}  // namespace headlight
