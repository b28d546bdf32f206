#pragma once

#include <map>
#include <string>
#include <vector>

#include "files/input_file.h"
#include "headlight/io/safetensors.h"

namespace headlight {

struct SafetensorsEntry {
  std::string name;
  TensorInfo info;
  DType dtype = DType::float32;  // of the tensor that the data is read into
};

// An open safetensors file whose tensors are read one at a time. Whoever gets its entries may trust
// every size and offset in them. Throws what read_safetensors throws.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

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

// A model.safetensors.index.json: which file beside it holds which tensor. Throws Error for another
// form, for more than 65,536 tensors, and for names of files that are not plain *.safetensors names
// in the same folder.
std::map<std::string, std::string> read_shard_index(const std::filesystem::path& path);

}  // namespace headlight
