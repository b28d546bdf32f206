#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "files/input_file.h"
#include "headlight/io/safetensors.h"

namespace headlight {

inline constexpr Index kMaxSafetensorsHeader = Index{16} << 20;  // in bytes
inline constexpr std::string_view kMetadataName =
    "__metadata__";  // not a tensor: text about the file

struct SafetensorsEntry {
  std::string name;
  TensorInfo info;
  DType dtype = DType::float32;  // of the tensor that the data is read into
};

// The entries in the order of their data. Throws what read_safetensors promises: whoever gets the
// entries may trust every size and offset in them. `metadata` gets the texts about the file.
std::vector<SafetensorsEntry> parse_safetensors_header(
    const InputFile& file, std::map<std::string, std::string>* metadata = nullptr);

}  // namespace headlight
