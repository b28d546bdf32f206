#include "tensor/array_source.h"

#include <algorithm>
#include <cstring>

#include "tensor/float16.h"
#include "tensor/tensor_file.h"

namespace headlight {

ArraySource source_of(std::string name, const Tensor& tensor) {
  return {std::move(name), tensor.dtype(), tensor.shape(),
          [elements = tensor](Index offset, std::span<std::byte> bytes) mutable {
            elements = to_contiguous(elements);
            std::copy_n(bytes_of(elements).begin() + offset, bytes.size(), bytes.begin());
          }};
}

bool is_halved(DType dtype, StoredFloats floats) {
  return floats != StoredFloats::float32 && dtype == DType::float32;
}

StoredElements::StoredElements(const ArraySource& array, StoredFloats floats)
    : array_(array),
      floats_(floats),
      bytes_(numel(array.shape) * static_cast<Index>(element_size(array.dtype))) {}

void StoredElements::read(std::span<std::byte> bytes) {
  if (!is_halved(array_.dtype, floats_)) {
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
  constexpr Index kPieceElements = 8192;  // elements converted at once
  const Index left = (bytes_ - read_) / static_cast<Index>(sizeof(float));
  piece_.resize(static_cast<std::size_t>(std::min(kPieceElements, left)));
  array_.read(read_, std::as_writable_bytes(std::span(piece_)));
  read_ += std::ssize(piece_) * static_cast<Index>(sizeof(float));
  halves_.resize(piece_.size());
  std::transform(piece_.begin(), piece_.end(), halves_.begin(),
                 floats_ == StoredFloats::float16 ? float_to_half : float_to_bfloat16);
  given_ = 0;
}

}  // namespace headlight
