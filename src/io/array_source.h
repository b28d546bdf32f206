#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "headlight/io/stored_floats.h"
#include "headlight/tensor/dtype.h"
#include "headlight/tensor/shape.h"

namespace headlight {

// An array that a file is made of piece by piece: it need not be in memory.
struct ArraySource {
  std::string name;
  DType dtype = DType::float32;  // or int32
  Shape shape;
  // Gives the bytes of the elements from byte `offset` on, as many as the span takes.
  std::function<void(Index offset, std::span<std::byte> bytes)> read;
};

// The bytes that the functions for tensors write of the same arrays, in memory that does not depend
// on their sizes. They throw what those throw, and what `read` throws.
void write_npz(const std::filesystem::path& path, const std::vector<ArraySource>& arrays,
               StoredFloats floats);
void write_safetensors(const std::filesystem::path& path, const std::vector<ArraySource>& arrays,
                       const std::map<std::string, std::string>& metadata, StoredFloats floats);

}  // namespace headlight
