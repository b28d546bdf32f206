#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace headlight {

// Unicode version of the character classes, as in Hugging Face `tokenizers`, because token ids
// depend on it. As there, only the step Digits uses numbers of version 17.
inline constexpr std::string_view kUnicodeVersion = "16.0";

// Character classes of the byte-level BPE pattern: general categories L and N, and White_Space.
enum class UnicodeClass : std::uint8_t { kOther, kLetter, kNumber, kSpace };

// Returns the class of a code point in kUnicodeVersion.
UnicodeClass unicode_class(char32_t code_point);

// True for characters that \w matches in Rust's `regex`: letters, marks, decimal digits and number
// letters, connecting punctuation, joiners and the alphabetic symbols (Unicode Technical Standard
// 18, annex C).
bool is_word_character(char32_t code_point);

// Generated table: see unicode_class_table.cpp.
std::span<const std::uint32_t> unicode_runs();

}  // namespace headlight
