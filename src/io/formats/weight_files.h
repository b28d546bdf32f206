#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "headlight/io/gguf.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

// A tensor of a file, read when it is asked for.
struct FileTensor {
  std::string name;
  Shape shape;
  std::function<Tensor()> read;
  // Overwrites the elements of a tensor of the same shape in row-major order, in its own type.
  std::function<void(Tensor&)> read_into;
};

// What a model is read from, in whatever format.
struct WeightFiles {
  std::string where;         // the file that errors name
  std::string described_by;  // what says the shapes: "config.json"
  std::vector<FileTensor> tensors = {};
};

// model.safetensors of a directory, or the shards that model.safetensors.index.json names. Reads
// headers only. Throws Error for files that are missing or damaged, and shards with tensors that
// the index does not have there. It may have more: buffers that no model needs.
WeightFiles safetensors_weights(const std::filesystem::path& directory);

WeightFiles gguf_weights(const GgufFile& file);

}  // namespace headlight
