#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "io/array_source.h"

namespace headlight {

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
  bool is_halved_;
  Index bytes_;                        // size of the elements in memory
  Index read_ = 0;                     // bytes already read, of these
  std::vector<float> piece_;           // floats to convert to 16 bits
  std::vector<std::uint16_t> halves_;  // the converted piece
  std::size_t given_ = 0;              // bytes of halves_ already returned
};

}  // namespace headlight
