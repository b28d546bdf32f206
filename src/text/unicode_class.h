#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace headlight {

// Of the classes by which patterns cut texts: that of Hugging Face `tokenizers`, on which the ids of
// models depend. The step Digits alone has numbers of 17, as theirs does.
inline constexpr std::string_view kUnicodeVersion = "16.0";

// What the pattern of byte-level BPE tells apart: general categories L and N, White_Space.
enum class UnicodeClass : std::uint8_t { kOther, kLetter, kNumber, kSpace };

// The class of a code point in kUnicodeVersion.
UnicodeClass unicode_class(char32_t code_point);

// What \w of Rust's `regex` matches: letters, marks, decimal digits and number letters, connecting
// punctuation, joiners and the alphabetic symbols (Unicode Technical Standard 18, annex C).
bool is_word_character(char32_t code_point);

// The generated tables: see unicode_class_table.cpp.
std::span<const std::uint32_t> unicode_class_runs();
// Where runs of word characters begin and end, in turns.
std::span<const std::uint32_t> unicode_word_runs();

}  // namespace headlight
