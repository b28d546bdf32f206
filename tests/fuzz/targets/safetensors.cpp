#include "headlight/formats/arrays/safetensors.h"

#include <cstdint>
#include <map>

#include "fuzz/harness.h"
#include "fuzz/targets.h"

namespace headlight::fuzz {
namespace {

// File of a header and its data, with the correct length field, so that mutations reach the parts
// after it.
std::string with_length(std::string_view input) {
  const std::string_view header = take_text(input);
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>((std::uint64_t{header.size()} >> (8 * i)) & 0xFF);
  }
  return bytes.append(header).append(input);
}

void check_header(const std::map<std::string, TensorInfo>& header, std::size_t file_bytes) {
  std::size_t data_bytes = 0;
  for (const auto& [name, info] : header) {
    demand(info.begin >= 8 && info.begin <= info.end && info.end <= static_cast<Index>(file_bytes),
           name + " lies outside of the file");
    data_bytes += static_cast<std::size_t>(info.end - info.begin);
  }
  demand(data_bytes + 8 <= file_bytes, "tensors overlap");
}

}  // namespace

void safetensors(std::string_view input) {
  static const MemoryFile file;
  const bool raw = take_byte(input) % 2 == 0;
  const std::string bytes = raw ? std::string(input) : with_length(input);
  file.write(bytes);
  std::map<std::string, TensorInfo> header;
  const bool good = accepted([&] { header = read_safetensors_header(file.path()); });
  if (good) {
    check_header(header, bytes.size());
  }
  NamedTensors tensors;
  const bool read = accepted([&] { tensors = read_safetensors(file.path()); });
  demand(good || !read, "tensors of a header that was refused");
  demand(tensors.size() == (read ? header.size() : 0), "tensors were lost");
  demand(accepted([&] { read_safetensors_metadata(file.path()); }) == good,
         "header and metadata disagree");
  for (const auto& [name, tensor] : tensors) {
    demand(tensor.shape() == header.at(name).shape, name + " has another shape");
  }
}

}  // namespace headlight::fuzz
