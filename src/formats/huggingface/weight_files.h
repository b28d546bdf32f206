#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "headlight/formats/gguf/gguf.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

// A tensor in a file, read on demand.
struct FileTensor {
  std::string name;
  Shape shape;
  std::function<Tensor()> read;
  // Overwrites the elements of a contiguous tensor of the same shape, in its own type.
  std::function<void(Tensor&)> read_into;
};

// The tensors in a model's files, in any format.
struct WeightFiles {
  std::string where;         // file name for errors
  std::string described_by;  // source of the shapes, for errors: "config.json"
  std::vector<FileTensor> tensors = {};
};

// Opens model.safetensors of a directory, or the shards named by model.safetensors.index.json.
// Reads only headers. Throws Error for missing or damaged files, and for shards with tensors that
// the index does not list there. Extra tensors are allowed: buffers that no model needs.
WeightFiles safetensors_weights(const std::filesystem::path& directory);

WeightFiles gguf_weights(const GgufFile& file);

}  // namespace headlight
