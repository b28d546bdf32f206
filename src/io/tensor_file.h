#pragma once

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

// Returns the bytes of the elements; nothing if they, or the tensor's strides, overflow an Index.
std::optional<Index> checked_byte_count(const Shape& shape, Index element_bytes);

// Throws Error, starting with `where`, if a byte is neither 0 nor 1: as a C++ bool it would be
// undefined behaviour.
void check_booleans(std::span<const std::byte> bytes, std::string_view where);

// Returns the memory of a contiguous tensor's elements.
std::span<const std::byte> bytes_of(const Tensor& tensor);
std::span<std::byte> writable_bytes_of(Tensor& tensor);

}  // namespace headlight
