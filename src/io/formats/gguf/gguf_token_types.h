#pragma once

#include <cstdint>
#include <string_view>

namespace headlight {

// What tokenizer.ggml.token_type says of a token.
inline constexpr std::int32_t kNormal = 1;
inline constexpr std::int32_t kUnknown = 2;
inline constexpr std::int32_t kControl = 3;
inline constexpr std::int32_t kUserDefined = 4;
inline constexpr std::int32_t kUnused = 5;
inline constexpr std::int32_t kByte = 6;

// Stands in SentencePiece's tokens in the place of blanks.
inline constexpr std::string_view kMark = "\u2581";

}  // namespace headlight
