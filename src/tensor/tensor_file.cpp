#include "tensor/tensor_file.h"

#include <algorithm>
#include <bit>

#include "base/keyed_hash.h"
#include "base/strings/printable.h"
#include "headlight/base/error.h"

namespace headlight {

static_assert(std::endian::native == std::endian::little, "the file formats are little endian");

namespace {

constexpr std::size_t kMaxNameBytes = 1024;

bool is_control(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte < 0x20 || byte == 0x7F;
}

bool leaves_folder(const std::filesystem::path& name) {
  return std::find(name.begin(), name.end(), "..") != name.end();
}

}  // namespace

void check_tensor_name(const std::filesystem::path& path, std::string_view name) {
  const auto check = [&](bool good, std::string_view reason) {
    require(good, shown(path), ": tensor name ", in_quotes(name), " ", reason);
  };
  check(!name.empty(), "is empty");
  check(name.size() <= kMaxNameBytes, "is longer than 1024 bytes");
  check(std::none_of(name.begin(), name.end(), is_control), "contains a control character");
  check(name.front() != '/' && !leaves_folder(name), "is not usable as a file name");
}

void check_tensors(const std::filesystem::path& path, const NamedTensors& tensors) {
  require(tensors.size() <= kMaxTensors, shown(path), ": ", tensors.size(), " tensors, at most ",
          kMaxTensors, " can be written");
  TextSet names;
  for (const auto& [name, tensor] : tensors) {
    check_tensor_name(path, name);
    require(tensor.defined(), shown(path), ": tensor ", in_quotes(name), " is undefined");
    require(checked_byte_count(tensor.shape(), sizeof(double)).has_value(), shown(path),
            ": tensor ", in_quotes(name), " is too large: ", tensor.shape());
    require(names.insert(name).second, shown(path), ": two tensors are named ", in_quotes(name));
  }
}

std::optional<Index> checked_byte_count(const Shape& shape, Index element_bytes) {
  Index bytes = element_bytes;
  bool is_empty = false;
  for (const Index size : shape) {
    // Counts an axis of size 0 as 1: strides multiply the other sizes and must not overflow.
    if (__builtin_mul_overflow(bytes, std::max<Index>(size, 1), &bytes)) {
      return std::nullopt;
    }
    is_empty = is_empty || size == 0;
  }
  return is_empty ? 0 : bytes;
}

void check_booleans(std::span<const std::byte> bytes, std::string_view where) {
  const auto bad =
      std::find_if(bytes.begin(), bytes.end(), [](std::byte byte) { return byte > std::byte{1}; });
  require(bad == bytes.end(), where, ": element ", bad - bytes.begin(), " is neither 0 nor 1");
}

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return dispatch_any(tensor.dtype(), [&](auto element) {
    const auto* data = tensor.data<decltype(element)>();
    return std::as_bytes(std::span(data, static_cast<std::size_t>(tensor.numel())));
  });
}

std::span<std::byte> writable_bytes_of(Tensor& tensor) {
  return dispatch_any(tensor.dtype(), [&](auto element) {
    auto* data = tensor.mutable_data<decltype(element)>();
    return std::as_writable_bytes(std::span(data, static_cast<std::size_t>(tensor.numel())));
  });
}

}  // namespace headlight
