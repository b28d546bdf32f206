#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace headlight {

// The printable character that byte-level tokenizer files write for each byte: bytes 33-126,
// 161-172 and 174-255 stand for themselves, the other 68, in increasing order, for U+0100 and up;
// so a blank is U+0120. Radford et al., "Language Models are Unsupervised Multitask Learners"
// (GPT-2), 2019.
std::array<char32_t, 256> byte_characters();

// How files write a token of these bytes: one such character for each.
std::string byte_name(std::string_view bytes);

// The bytes of a token that is written like that; nothing when `name` has another character.
std::optional<std::string> bytes_of_name(std::string_view name);

}  // namespace headlight
