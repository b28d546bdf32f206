#pragma once

#include "io/safetensors_header.h"

namespace headlight {

// An open safetensors file whose tensors are read one at a time. Throws what read_safetensors
// throws.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path)
      : file_(path), entries_(parse_safetensors_header(file_)) {}

  const std::filesystem::path& path() const { return file_.path(); }
  // In the order of the data.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  // A new tensor of the type entry.dtype.
  Tensor read(const SafetensorsEntry& entry) const;
  // Overwrites the elements of `target`, which has the entry's shape and lies in row-major order;
  // converts the type.
  void read_into(const SafetensorsEntry& entry, Tensor& target) const;

 private:
  InputFile file_;
  std::vector<SafetensorsEntry> entries_;
};

}  // namespace headlight
