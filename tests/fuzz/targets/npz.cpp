#include "headlight/formats/arrays/npz.h"

#include "fuzz/harness.h"
#include "fuzz/stored_archive.h"
#include "fuzz/targets.h"

namespace headlight::fuzz {
namespace {

// File in .npy format of a header and its data, with the correct header length.
std::string array_of(std::string_view input) {
  const std::string_view header = take_text(input);
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>((header.size() >> 8) & 0xFF);
  return bytes.append(header).append(input);
}

std::string file_bytes(std::string_view input) {
  switch (take_byte(input) % 3) {
    case 0:
      return std::string(input);
    case 1:
      return stored_archive({{"a.npy", std::string(input)}});
    default:
      return stored_archive({{"a.npy", array_of(input)}});
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
