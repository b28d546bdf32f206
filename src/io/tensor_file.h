#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "headlight/tensor/named_tensors.h"

namespace headlight {

// What the tensor file formats have in common.

inline constexpr std::size_t kMaxTensors = 65536;
inline constexpr Index kMaxAxisSize = Index{1} << 40;

// Throws Error, starting with the path, unless `name` follows the rules of NamedTensors.
void check_tensor_name(const std::filesystem::path& path, std::string_view name);

// Throws Error unless the tensors are defined, not too many, and well and differently named.
void check_tensors(const std::filesystem::path& path, const NamedTensors& tensors);

// Bytes of the elements; nothing when they, or the strides of such a tensor, do not fit an Index.
std::optional<Index> checked_byte_count(const Shape& shape, Index element_bytes);

// Throws Error, starting with `where`, when one of the bytes is neither 0 nor 1: as a C++ bool it
// would be undefined behaviour.
void check_booleans(std::span<const std::byte> bytes, std::string_view where);

// The elements of a contiguous tensor as they lie in memory.
std::span<const std::byte> bytes_of(const Tensor& tensor);
std::span<std::byte> writable_bytes_of(Tensor& tensor);

}  // namespace headlight
