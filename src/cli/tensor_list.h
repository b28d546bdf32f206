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

// Name, type and shape of every tensor of a file, and what the file says about itself: of
// safetensors texts, of GGUF its metadata, where lists lose their end.
struct TensorList {
  std::string format;
  std::vector<ListedTensor> tensors = {};
  std::vector<JsonMember> metadata = {};
};

// True for the name of a file of tensors: it ends in .safetensors, .npz or .gguf.
bool is_tensor_file(const std::filesystem::path& path);

// The elements are not read.
TensorList list_tensor_file(const std::filesystem::path& path);

// {"format", "tensors", "metadata", "elements"}
Json tensor_list_json(const TensorList& list);
void print_tensor_list(const TensorList& list);

}  // namespace headlight::cli
