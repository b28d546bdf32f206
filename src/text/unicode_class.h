#pragma once

#include <cstdint>
#include <span>

namespace headlight {

// What the pattern of byte-level BPE tells apart: general categories L and N, White_Space.
enum class UnicodeClass : std::uint8_t { kOther, kLetter, kNumber, kSpace };

// The class of a code point in Unicode 16, the version that Hugging Face `tokenizers` has.
UnicodeClass unicode_class(char32_t code_point);

// The generated table: see unicode_class_table.cpp.
std::span<const std::uint32_t> unicode_class_runs();

}  // namespace headlight
