#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "headlight/tensor/stored_floats.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

// An array to write to a file piece by piece; it need not be in memory.
struct ArraySource {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  // Fills `bytes` with the bytes of the elements from byte `offset` on.
  std::function<void(Index offset, std::span<std::byte> bytes)> read;
};

// Returns the elements of a tensor as an array. A strided tensor is copied at the first read.
ArraySource source_of(std::string name, const Tensor& tensor);

// True for float32 elements that a file stores with 16 bits.
bool is_halved(DType dtype, StoredFloats floats);

// Stream of an array's elements as bytes in file format.
class StoredElements {
 public:
  // `array` must outlive this object.
  StoredElements(const ArraySource& array, StoredFloats floats);

  // Fills `bytes` with the next bytes. Passes on exceptions from ArraySource::read.
  void read(std::span<std::byte> bytes);

 private:
  void convert_piece();

  const ArraySource& array_;
  StoredFloats floats_;
  Index bytes_;                        // size of the elements in memory
  Index read_ = 0;                     // bytes already read, of these
  std::vector<float> piece_;           // floats to convert to 16 bits
  std::vector<std::uint16_t> halves_;  // the converted piece
  std::size_t given_ = 0;              // bytes of halves_ already returned
};

// Write the same bytes as the functions for tensors, in memory that does not depend on the arrays'
// sizes. Throw Error as these do, and pass on exceptions from `read`.
void write_npz(const std::filesystem::path& path, const std::vector<ArraySource>& arrays,
               StoredFloats floats);
void write_safetensors(
    const std::filesystem::path& path, std::vector<ArraySource> arrays,
    const std::map<std::string, std::string>& metadata, StoredFloats floats,
    const std::function<void(double share)>& progress = [](double) {});

}  // namespace headlight
