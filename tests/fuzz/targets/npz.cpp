#include "headlight/io/npz.h"

#include <array>
#include <cstdint>

#include "fuzz/harness.h"
#include "fuzz/targets.h"

namespace headlight::fuzz {
namespace {

// Zip checksum (ISO 3309). Without it, the library would reject all mutations.
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

void append(std::string& bytes, std::uint32_t value, int count) {
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
  append(bytes, static_cast<std::uint32_t>(content.size()), 4);
  append(bytes, static_cast<std::uint32_t>(content.size()), 4);
  append(bytes, static_cast<std::uint32_t>(name.size()), 2);
  append(bytes, 0, 2);
  return bytes;
}

// Archive of one stored member (PKWARE, APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12 and 4.3.16).
std::string archive_of(std::string_view name, std::string_view content) {
  const std::string fields = common_fields(name, content);
  std::string bytes = "PK\x03\x04" + fields;
  bytes.append(name).append(content);
  const auto start = static_cast<std::uint32_t>(bytes.size());
  bytes += "PK\x01\x02";
  append(bytes, 20, 2);
  bytes += fields;
  bytes.append(14, '\0');
  bytes.append(name);
  const auto length = static_cast<std::uint32_t>(bytes.size()) - start;
  bytes += "PK\x05\x06";
  append(bytes, 0, 4);
  append(bytes, 1, 2);
  append(bytes, 1, 2);
  append(bytes, length, 4);
  append(bytes, start, 4);
  append(bytes, 0, 2);
  return bytes;
}

// File in .npy format of a header and its data, with the correct header length.
std::string array_of(std::string_view input) {
  const std::string_view header = take_text(input);
  std::string bytes("\x93NUMPY\x01\x00", 8);
  append(bytes, static_cast<std::uint32_t>(header.size()), 2);
  return bytes.append(header).append(input);
}

std::string file_bytes(std::string_view input) {
  switch (take_byte(input) % 3) {
    case 0:
      return std::string(input);
    case 1:
      return archive_of("a.npy", input);
    default:
      return archive_of("a.npy", array_of(input));
  }
}

}  // namespace

void npz(std::string_view input) {
  static const MemoryFile file;
  file.write(file_bytes(input));
  std::vector<ArrayInfo> header;
  const bool good = accepted([&] { header = read_npz_header(file.path()); });
  NamedTensors tensors;
  NamedTexts texts;
  const bool read = accepted([&] { tensors = read_npz(file.path(), &texts); });
  demand(good || !read, "arrays of a header that was refused");
  std::erase_if(header, [](const ArrayInfo& array) { return array.texts; });
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    demand(tensors[i].first == header[i].name && tensors[i].second.shape() == header[i].shape,
           "header and array disagree");
  }
}

}  // namespace headlight::fuzz
