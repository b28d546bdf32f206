#pragma once

#include <span>
#include <string_view>

namespace headlight {

// How byte-level BPE cuts texts into pieces for a name under tokenizer.ggml.pre. It matches the
// tokenizer.json of the models with that name.
struct GgufPreTokenizer {
  std::string_view names;  // separated by blanks
  // Each pattern cuts the pieces of the patterns before. Empty: GPT-2's pattern.
  std::span<const std::string_view> patterns = {};
  bool digits = false;  // cuts off each digit before GPT-2's pattern
  bool nfc = false;     // composes characters (NFC) first
  bool whole = false;   // takes pieces that are tokens whole, whatever the merges
  bool begins = false;  // texts begin with a token, unless the file says otherwise
};

// The name for an unknown pre-tokenizer, also used if the key is missing.
inline constexpr std::string_view kDefaultPieces = "default";

// Returns the pieces for a name. Throws Error, "ABOUT: expected NAMES, got ...", if it is unknown.
const GgufPreTokenizer& gguf_pre_tokenizer(std::string_view about, std::string_view name);

}  // namespace headlight
