#include "tokenizers/byte_characters.h"

#include <cstdint>

#include "headlight/base/utf8.h"

namespace headlight {
namespace {

constexpr std::size_t kCharacters = 0x100 + 68;  // all byte characters are below this code point

constexpr std::array<char32_t, 256> make_characters() {
  std::array<char32_t, 256> characters{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    characters[byte] = printable ? byte : next++;
  }
  return characters;
}

constexpr std::array<char32_t, 256> kByteCharacters = make_characters();

// Table from character to byte; -1 for characters that encode no byte.
constexpr std::array<std::int16_t, kCharacters> make_bytes() {
  std::array<std::int16_t, kCharacters> bytes{};
  bytes.fill(-1);
  for (std::size_t byte = 0; byte < kByteCharacters.size(); ++byte) {
    bytes[kByteCharacters[byte]] = static_cast<std::int16_t>(byte);
  }
  return bytes;
}

constexpr std::array<std::int16_t, kCharacters> kByteOfCharacter = make_bytes();

}  // namespace

std::array<char32_t, 256> byte_characters() { return kByteCharacters; }

std::string byte_name(std::string_view bytes) {
  std::string name;
  for (const char byte : bytes) {
    append_utf8(kByteCharacters[static_cast<std::uint8_t>(byte)], name);
  }
  return name;
}

std::optional<std::string> bytes_of_name(std::string_view name) {
  std::string bytes;
  while (!name.empty()) {
    const Utf8Character character = first_character(name);
    const bool known = character.valid && character.code_point < kByteOfCharacter.size();
    const int byte = known ? kByteOfCharacter[character.code_point] : -1;
    if (byte < 0) {
      return std::nullopt;
    }
    bytes += static_cast<char>(byte);
    name.remove_prefix(static_cast<std::size_t>(character.length));
  }
  return bytes;
}

}  // namespace headlight
