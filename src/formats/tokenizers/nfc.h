#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headlight {

// True only if nfc(text) equals `text`. A quick check in one pass; may be false for NFC text.
bool is_surely_nfc(std::string_view text);

// Returns `text` in normalisation form C of Unicode 9.0, the version of Hugging Face `tokenizers`
// (Unicode Standard Annex 15): decompose canonically, order the marks, compose. Invalid bytes stay
// as they are and compose with nothing.
std::string nfc(std::string_view text);

// Generated tables: see nfc_table.cpp.
std::span<const std::uint32_t> nfc_classes();
std::span<const std::uint32_t> nfc_decompositions();

}  // namespace headlight
