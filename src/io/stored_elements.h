#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "io/array_source.h"

namespace headlight {

// The bytes of an array's elements as they lie in a file, from the first to the last.
class StoredElements {
 public:
  // The array must outlive it.
  StoredElements(const ArraySource& array, StoredFloats floats);

  // The next bytes. Throws what ArraySource::read throws.
  void read(std::span<std::byte> bytes);

 private:
  void convert_piece();

  const ArraySource& array_;
  StoredFloats floats_;
  bool is_halved_;
  Index bytes_;                        // of the elements in memory
  Index read_ = 0;                     // of these
  std::vector<float> piece_;           // where floats are halved
  std::vector<std::uint16_t> halves_;  // made of the piece
  std::size_t given_ = 0;              // bytes of the halves
};

}  // namespace headlight
