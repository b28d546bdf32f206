#pragma once

#include <span>
#include <string_view>

namespace headlight {

// How llama.cpp's name under tokenizer.ggml.pre says that byte-level BPE cuts texts, as the
// tokenizer.json of the models does it that have the name.
struct GgufPieces {
  std::string_view names;  // with blanks between them
  // Each cuts what the ones before left; none: GPT-2's pattern.
  std::span<const std::string_view> patterns = {};
  bool digits = false;   // each digit is cut off before GPT-2's pattern
  bool nfc = false;      // characters are composed first
  bool whole = false;    // pieces that are tokens are taken whole, whatever the merges
  bool begins = false;   // texts begin with a token, unless the file says otherwise
};

// The name that stands for none, and for a missing one.
inline constexpr std::string_view kDefaultPieces = "default";

// Throws Error, "ABOUT: expected NAMES, got ...", for a name that is not known.
const GgufPieces& gguf_pieces(std::string_view about, std::string_view name);

}  // namespace headlight
