#pragma once

#include "support/test.h"

namespace headlight::test {

// Writers of GGUF values, independent of the library.
template <class T>
std::string gguf_number(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

inline std::string gguf_text(std::string_view text) {
  return gguf_number(std::uint64_t{text.size()}) + std::string(text);
}

// First bytes of every GGUF file.
inline std::string gguf_start(std::uint64_t tensors, std::uint64_t keys,
                              std::uint32_t version = 3) {
  return "GGUF" + gguf_number(version) + gguf_number(tensors) + gguf_number(keys);
}

// Metadata entry: a key, its type number and its value.
inline std::string gguf_entry(std::string_view key, std::uint32_t type, std::string_view value) {
  return gguf_text(key) + gguf_number(type) + std::string(value);
}

// Entry of the tensor table. `sizes` are in file order, the fastest axis first.
inline std::string gguf_tensor(std::string_view name, const std::vector<std::uint64_t>& sizes,
                               std::uint32_t type, std::uint64_t offset) {
  std::string bytes = gguf_text(name) + gguf_number(static_cast<std::uint32_t>(sizes.size()));
  for (const std::uint64_t size : sizes) {
    bytes += gguf_number(size);
  }
  return bytes + gguf_number(type) + gguf_number(offset);
}

// File of a header, with zero bytes as elements from the next multiple of 32 on.
inline std::string gguf_file(std::string header, std::size_t data_bytes) {
  header.append((32 - header.size() % 32) % 32, '\0');
  return header + std::string(data_bytes, '\0');
}

}  // namespace headlight::test
