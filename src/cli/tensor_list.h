#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "headlight/tensor/shape.h"

namespace headlight::cli {

struct ListedTensor {
  std::string name;
  std::string dtype;  // as the format spells it
  Shape shape;
};

// Name, type and shape of every tensor of a file, and the file's metadata: texts of safetensors,
// keys of GGUF with long lists shortened.
struct TensorList {
  std::string format;
  std::vector<ListedTensor> tensors = {};
  std::vector<JsonMember> metadata = {};
};

// True if the name ends in .safetensors, .npz or .gguf.
bool is_tensor_file(const std::filesystem::path& path);

// Lists the tensors of a file without reading their elements.
TensorList list_tensor_file(const std::filesystem::path& path);

// {"format", "tensors", "metadata", "elements"}
Json tensor_list_json(const TensorList& list);
void print_tensor_list(const TensorList& list);

}  // namespace headlight::cli
