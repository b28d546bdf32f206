#pragma once

#include <span>
#include <string>
#include <string_view>

#include "headlight/tensor/dtype.h"
#include "headlight/tensor/shape.h"

namespace headlight {

// What comes before the elements of an array in a .npy file.
struct NpyHeader {
  DType dtype = DType::float32;
  Shape shape;
  bool half = false;  // float32 in memory, float16 in the file
  // Of texts, which no tensor holds: code points of an element, four bytes each; 0: numbers.
  std::size_t characters = 0;

  std::size_t element_bytes() const {
    return characters > 0 ? 4 * characters : half ? 2 : element_size(dtype);
  }
};

// Magic bytes, version 1.0, header length: what has to be read to know how much text follows.
inline constexpr std::size_t kNpyPrefixBytes = 10;

// Prefix and text, a multiple of 64 bytes. Throws Error for bfloat16.
std::string format_npy_header(const NpyHeader& header);

// Length in bytes of the text behind the prefix. Throws Error, starting with `where`, when the
// prefix is not that of a version 1.0 file.
std::size_t npy_text_bytes(std::span<const std::byte, kNpyPrefixBytes> prefix,
                           std::string_view where);

// Reads the text. Throws Error, starting with `where`, for anything that is not a dictionary of
// exactly descr, fortran_order (False) and shape, with a known type and at most kMaxRank axes.
NpyHeader parse_npy_text(std::string_view text, std::string_view where);

}  // namespace headlight
