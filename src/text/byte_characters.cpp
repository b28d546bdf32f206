#include "text/byte_characters.h"

namespace headlight {

std::array<char32_t, 256> byte_characters() {
  std::array<char32_t, 256> characters{};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    characters[byte] = printable ? byte : next++;
  }
  return characters;
}

}  // namespace headlight
