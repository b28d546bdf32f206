#pragma once

#include <span>
#include <string>
#include <string_view>

#include "headlight/tensor/dtype.h"
#include "headlight/tensor/shape.h"

namespace headlight {

// Header of an array in a .npy file.
struct NpyHeader {
  DType dtype = DType::float32;
  Shape shape;
  bool half = false;  // float32 in memory, float16 in the file
  // Code points per element of an array of texts, 4 bytes each; 0: an array of numbers.
  std::size_t characters = 0;

  std::size_t element_bytes() const {
    return characters > 0 ? 4 * characters : half ? 2 : element_size(dtype);
  }
};

// Size of the prefix: magic bytes, version 1.0 and the length of the header text.
inline constexpr std::size_t kNpyPrefixBytes = 10;

// Returns prefix and text, padded to a multiple of 64 bytes. Throws Error for bfloat16.
std::string format_npy_header(const NpyHeader& header);

// Returns the length in bytes of the text after the prefix. Throws Error, starting with `where`, if
// the prefix is not of a version 1.0 file.
std::size_t npy_text_bytes(std::span<const std::byte, kNpyPrefixBytes> prefix,
                           std::string_view where);

// Parses the text. Throws Error, starting with `where`, for anything but a dictionary of exactly
// descr, fortran_order (False) and shape, with a known type and at most kMaxRank axes.
NpyHeader parse_npy_text(std::string_view text, std::string_view where);

}  // namespace headlight
