#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tokenizers/aligned_text.h"

namespace headlight {

// True only if nfc(text) equals `text`. A quick check in one pass; may be false for NFC text.
bool is_surely_nfc(std::string_view text);

// Bring a text to normalisation form C of Unicode 9.0, the version of Hugging Face `tokenizers`
// (Unicode Standard Annex 15): decompose canonically, order the marks, compose. Form D: without the
// last step. Invalid bytes stay as they are and compose with nothing.
void nfc(const AlignedText& text, MadeText& made);
void nfd(const AlignedText& text, MadeText& made);

// Generated tables: see nfc_table.cpp.
struct NfcData {
  // The first code point of each run of one canonical combining class, times 256, plus the class.
  std::span<const std::uint32_t> classes;
  // Characters that decompose to one: for each run of code points the first, the count, the
  // results.
  std::span<const std::uint32_t> singles;
  // Characters that decompose to two: for each second character of a pair that character, the
  // count, and so many times the whole character and the first of its pair.
  std::span<const std::uint32_t> pairs;
  std::span<const std::uint32_t> exclusions;  // whole characters whose pairs do not compose
};
const NfcData& nfc_data();

}  // namespace headlight
