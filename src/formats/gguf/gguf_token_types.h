#pragma once

#include <cstdint>
#include <string_view>

namespace headlight {

// Values of tokenizer.ggml.token_type.
inline constexpr std::int32_t kNormal = 1;
inline constexpr std::int32_t kUnknown = 2;
inline constexpr std::int32_t kControl = 3;
inline constexpr std::int32_t kUserDefined = 4;
inline constexpr std::int32_t kUnused = 5;
inline constexpr std::int32_t kByte = 6;

// The character for a blank in SentencePiece's tokens.
inline constexpr std::string_view kMark = "\u2581";

}  // namespace headlight
