#pragma once

#include <map>
#include <string>
#include <vector>

#include "headlight/formats/arrays/safetensors.h"
#include "storage/input_file.h"

namespace headlight {

struct SafetensorsEntry {
  std::string name;
  TensorInfo info;
  DType dtype = DType::float32;  // type of the tensor in memory
};

// An open safetensors file. Reads tensors one at a time. Sizes and offsets of its entries are
// checked. Throws Error as read_safetensors does.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  // Returns the entries in the order of the data.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  // Reads an entry into a new tensor of type entry.dtype.
  Tensor read(const SafetensorsEntry& entry) const;
  // Reads rows `first` to `first` + `count` of a matrix [R, C] into a new tensor [count, C] of type
  // entry.dtype. Several threads may read at once.
  Tensor read_rows(const SafetensorsEntry& entry, Index first, Index count) const;
  // Overwrites the elements of `target`, a contiguous tensor of the entry's shape, in its own type.
  void read_into(const SafetensorsEntry& entry, Tensor& target) const;

 private:
  InputFile file_;
  std::vector<SafetensorsEntry> entries_;
};

// Reads a model.safetensors.index.json. Returns the file of each tensor. Throws Error for another
// form, for more than 65,536 tensors, and for names that are not plain *.safetensors names in the
// same folder.
std::map<std::string, std::string> read_shard_index(const std::filesystem::path& path);

}  // namespace headlight
