#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headlight {

// Returns the bytes in base64 (RFC 4648), padded with '='.
std::string base64_of(std::span<const std::byte> bytes);

// Returns the bytes of a base64 text; nothing for other texts.
std::optional<std::string> bytes_of_base64(std::string_view text);

}  // namespace headlight
