#include "fuzz/stored_archive.h"

#include <cstdint>
#include <string_view>

// PKWARE, APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12 and 4.3.16.
namespace headlight::fuzz {
namespace {

// Zip checksum (ISO 3309).
std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t state = ~std::uint32_t{0};
  for (const char byte : bytes) {
    state ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      state = (state >> 1) ^ ((state & 1U) != 0 ? 0xEDB88320U : 0U);
    }
  }
  return ~state;
}

void append(std::string& bytes, std::size_t value, int count) {
  for (int i = 0; i < count; ++i) {
    bytes += static_cast<char>((value >> (8 * i)) & 0xFF);
  }
}

// Fields that a member's header shares with its directory entry: versions, flags, no compression,
// first day of zip, checksum, sizes, length of the name, and no extra field.
std::string common_fields(std::string_view name, std::string_view content) {
  std::string bytes;
  append(bytes, 20, 2);
  append(bytes, 0, 4);
  append(bytes, 0x00210000, 4);
  append(bytes, crc32(content), 4);
  append(bytes, content.size(), 4);
  append(bytes, content.size(), 4);
  append(bytes, name.size(), 2);
  append(bytes, 0, 2);
  return bytes;
}

}  // namespace

std::string stored_archive(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string bytes;
  std::string directory;
  for (const auto& [name, content] : members) {
    const std::string fields = common_fields(name, content);
    directory += "PK\x01\x02";
    append(directory, 20, 2);
    directory += fields;
    directory.append(10, '\0');
    append(directory, bytes.size(), 4);
    directory += name;
    bytes += "PK\x03\x04" + fields + name + content;
  }
  const std::size_t start = bytes.size();
  bytes += directory + "PK\x05\x06";
  append(bytes, 0, 4);
  append(bytes, members.size(), 2);
  append(bytes, members.size(), 2);
  append(bytes, directory.size(), 4);
  append(bytes, start, 4);
  append(bytes, 0, 2);
  return bytes;
}

}  // namespace headlight::fuzz
