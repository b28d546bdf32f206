#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headlight {

// True when nfc(text) is surely `text`; seen in one pass.
bool is_surely_nfc(std::string_view text);

// Normalisation form C of Unicode 9.0, the version that Hugging Face `tokenizers` has (Unicode
// Standard Annex 15): characters are taken apart canonically, their marks put in order, and
// composed again. Bytes that are no character stay as they are and compose with nothing.
std::string nfc(std::string_view text);

// The generated tables: see nfc_table.cpp.
std::span<const std::uint32_t> nfc_classes();
std::span<const std::uint32_t> nfc_decompositions();

}  // namespace headlight
