#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headlight/formats/gguf/gguf.h"
#include "headlight/tensor/tensor.h"
#include "kernels/panels/integer_panels.h"

namespace headlight {

// A matrix of integers in a file, as panels with the same numbers.
struct FilePanels {
  kernels::IntegerLayout layout;
  // Packs rows of the file into the lanes of a panel from `lane` on. Returns false if a scale is
  // not finite.
  std::function<bool(std::span<const Index> rows, Index lane, void* panel)> pack;
};

// A tensor in a file, read on demand.
struct FileTensor {
  std::string name;
  Shape shape;
  std::function<Tensor()> read;
  // Overwrites the elements of a contiguous tensor of the same shape, in its own type.
  std::function<void(Tensor&)> read_into;
  // Reads rows `first` to `first` + `count` of a matrix, [count, C] of a floating type. Several
  // threads call it at once. Null if only the whole tensor can be read.
  std::function<Tensor(Index first, Index count)> read_rows = {};
  bool is_bfloat16 = false;  // whether bfloat16 can hold all numbers
  std::optional<FilePanels> panels = {};
};

// Returns the number of consecutive rows at the beginning of some.
std::size_t consecutive_rows(std::span<const Index> rows);

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
