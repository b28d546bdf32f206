#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace headlight {

// Returns the printable character that byte-level tokenizer files write for each byte. Bytes
// 33-126, 161-172 and 174-255 keep their own code point. The other 68 map to U+0100 and up in
// increasing order, so a space is U+0120. Radford et al., "Language Models are Unsupervised
// Multitask Learners" (GPT-2), 2019.
std::array<char32_t, 256> byte_characters();

// Returns the name of a token in files: one byte character for each of its bytes.
std::string byte_name(std::string_view bytes);

// Returns the bytes of a token name; nullopt if `name` has a character that encodes no byte.
std::optional<std::string> bytes_of_name(std::string_view name);

}  // namespace headlight
