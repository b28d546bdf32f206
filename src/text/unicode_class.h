#pragma once

#include <cstdint>
#include <span>

namespace headlight {

// What the pattern of byte-level BPE tells apart: general categories L and N, White_Space.
enum class UnicodeClass : std::uint8_t { kOther, kLetter, kNumber, kSpace };

// The class of a code point in Unicode 16, the version that Hugging Face `tokenizers` has.
UnicodeClass unicode_class(char32_t code_point);

// What \w of Rust's `regex` matches: letters, marks, decimal digits and number letters, connecting
// punctuation, joiners and the alphabetic symbols (Unicode Technical Standard 18, annex C).
bool is_word_character(char32_t code_point);

// The generated tables: see unicode_class_table.cpp.
std::span<const std::uint32_t> unicode_class_runs();
// Where runs of word characters begin and end, in turns.
std::span<const std::uint32_t> unicode_word_runs();

}  // namespace headlight
