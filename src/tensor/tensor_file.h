#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "headlight/tensor/named_tensors.h"

namespace headlight {

// Checks and limits that the tensor file formats share.

inline constexpr std::size_t kMaxTensors = 65536;
inline constexpr Index kMaxAxisSize = Index{1} << 40;

// Throws Error, starting with the path, unless `name` is valid for NamedTensors.
void check_tensor_name(const std::filesystem::path& path, std::string_view name);

// Throws Error for an undefined tensor, too many tensors, and invalid or repeated names.
void check_tensors(const std::filesystem::path& path, const NamedTensors& tensors);

// Returns the size of all elements in bytes; nothing if the size or a stride overflows an Index.
std::optional<Index> checked_byte_count(const Shape& shape, Index element_bytes);

// Throws Error, starting with `where`, if a byte is neither 0 nor 1: as a C++ bool it would be
// undefined behaviour.
void check_booleans(std::span<const std::byte> bytes, std::string_view where);

// Returns the memory of a contiguous tensor's elements.
std::span<const std::byte> bytes_of(const Tensor& tensor);
std::span<std::byte> writable_bytes_of(Tensor& tensor);

// Sets the elements of a contiguous tensor to convert(number). read(offset, bytes) gives the
// numbers of type From in pieces, to need little memory for them.
template <class From, class To, class Read, class Convert>
void convert_elements(Tensor& tensor, const Read& read, const Convert& convert) {
  std::array<From, 8192> piece;
  To* to = tensor.mutable_data<To>();
  for (Index done = 0; done < tensor.numel();) {
    const Index count = std::min<Index>(std::ssize(piece), tensor.numel() - done);
    const std::span<From> part = std::span(piece).first(static_cast<std::size_t>(count));
    read(done * static_cast<Index>(sizeof(From)), std::as_writable_bytes(part));
    to = std::transform(part.begin(), part.end(), to, convert);
    done += count;
  }
}

}  // namespace headlight
