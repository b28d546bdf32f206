#include "io/stored_elements.h"

#include <algorithm>
#include <cstring>

#include "io/float16.h"

namespace headlight {
namespace {

constexpr Index kPiece = 8192;  // elements converted at once

}  // namespace

StoredElements::StoredElements(const ArraySource& array, StoredFloats floats)
    : array_(array),
      floats_(floats),
      is_halved_(floats != StoredFloats::float32 && array.dtype == DType::float32),
      bytes_(numel(array.shape) * static_cast<Index>(element_size(array.dtype))) {}

void StoredElements::read(std::span<std::byte> bytes) {
  if (!is_halved_) {
    array_.read(read_, bytes);
    read_ += std::ssize(bytes);
    return;
  }
  while (!bytes.empty()) {
    if (given_ == halves_.size() * sizeof(std::uint16_t)) {
      convert_piece();
    }
    const std::span<const std::byte> ready = std::as_bytes(std::span(halves_)).subspan(given_);
    const std::size_t count = std::min(ready.size(), bytes.size());
    std::memcpy(bytes.data(), ready.data(), count);
    bytes = bytes.subspan(count);
    given_ += count;
  }
}

void StoredElements::convert_piece() {
  const Index left = (bytes_ - read_) / static_cast<Index>(sizeof(float));
  piece_.resize(static_cast<std::size_t>(std::min(kPiece, left)));
  array_.read(read_, std::as_writable_bytes(std::span(piece_)));
  read_ += std::ssize(piece_) * static_cast<Index>(sizeof(float));
  halves_.resize(piece_.size());
  std::transform(piece_.begin(), piece_.end(), halves_.begin(),
                 floats_ == StoredFloats::float16 ? float_to_half : float_to_bfloat16);
  given_ = 0;
}

}  // namespace headlight
