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

// An array to write to a file piece by piece; it need not be in memory.
struct ArraySource {
  std::string name;
  DType dtype = DType::float32;  // or int32
  Shape shape;
  // Fills `bytes` with the bytes of the elements from byte `offset` on.
  std::function<void(Index offset, std::span<std::byte> bytes)> read;
};

// Write the same bytes as the functions for tensors, in memory that does not depend on the arrays'
// sizes. Throw Error as these do, and pass on exceptions from `read`.
void write_npz(const std::filesystem::path& path, const std::vector<ArraySource>& arrays,
               StoredFloats floats);
void write_safetensors(const std::filesystem::path& path, const std::vector<ArraySource>& arrays,
                       const std::map<std::string, std::string>& metadata, StoredFloats floats);

}  // namespace headlight
