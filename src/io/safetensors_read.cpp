#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "base/printable.h"
#include "headlight/base/error.h"
#include "io/safetensors_file.h"
#include "io/tensor_file.h"

namespace headlight {
namespace {

// IEEE 754 binary16 to binary32, which holds every value of it; the bits of a NaN are kept.
float half_to_float(std::uint16_t half) {
  constexpr std::uint32_t kHalfInfinity = 0x1F;
  constexpr std::uint32_t kRebias = 127 - 15;
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0) {  // zero and subnormal values: multiples of 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign == 0 ? magnitude : -magnitude;
  }
  const std::uint32_t wide = exponent == kHalfInfinity ? 0xFFU : exponent + kRebias;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

struct Source {
  const InputFile& file;
  const SafetensorsEntry& entry;

  std::string where() const { return shown(file.path()) + ": tensor " + in_quotes(entry.name); }
};

// Reads elements of type From piece by piece, so that the file's own type takes little memory, and
// stores convert(element) as To.
template <class From, class To, class Convert>
void read_converted(const Source& source, Tensor& tensor, Convert convert) {
  std::array<From, 8192> piece;
  To* to = tensor.mutable_data<To>();
  for (Index done = 0; done < tensor.numel();) {
    const Index count = std::min<Index>(std::ssize(piece), tensor.numel() - done);
    const std::span<From> part = std::span(piece).first(static_cast<std::size_t>(count));
    const Index offset = source.entry.info.begin + done * static_cast<Index>(sizeof(From));
    source.file.read(offset, std::as_writable_bytes(part));
    to = std::transform(part.begin(), part.end(), to, convert);
    done += count;
  }
}

template <class From>
void read_integers(const Source& source, Tensor& tensor) {
  read_converted<From, std::int32_t>(source, tensor, [&](From value) {
    const auto wide = static_cast<std::int64_t>(value);
    using Limits = std::numeric_limits<std::int32_t>;
    require(wide >= Limits::min() && wide <= Limits::max(), source.where(), ": ", wide,
            " does not fit int32");
    return static_cast<std::int32_t>(wide);
  });
}

void read_unchanged(const Source& source, Tensor& tensor) {
  const std::span<std::byte> bytes = writable_bytes_of(tensor);
  source.file.read(source.entry.info.begin, bytes);
  if (tensor.dtype() == DType::boolean) {
    check_booleans(bytes, source.where());
  }
}

void read_halves(const Source& source, Tensor& tensor) {
  read_converted<std::uint16_t, float>(source, tensor, half_to_float);
}

struct ElementReader {
  std::string_view file_type;
  void (*read)(const Source&, Tensor&);
};

// All other types lie in the file as they do in a tensor.
constexpr std::array<ElementReader, 5> kConvertingReaders{{
    {"F16", read_halves},
    {"I64", read_integers<std::int64_t>},
    {"I16", read_integers<std::int16_t>},
    {"I8", read_integers<std::int8_t>},
    {"U8", read_integers<std::uint8_t>},
}};

// The tensor has the type entry.dtype.
void fill(const Source& source, Tensor& tensor) {
  const auto* reader = std::find_if(
      kConvertingReaders.begin(), kConvertingReaders.end(),
      [&](const auto& candidate) { return candidate.file_type == source.entry.info.dtype; });
  (reader == kConvertingReaders.end() ? read_unchanged : reader->read)(source, tensor);
}

}  // namespace

Tensor SafetensorsFile::read(const SafetensorsEntry& entry) const {
  Tensor tensor = Tensor::empty(entry.info.shape, entry.dtype);
  fill({file_, entry}, tensor);
  return tensor;
}

void SafetensorsFile::read_into(const SafetensorsEntry& entry, Tensor& target) const {
  if (target.dtype() == entry.dtype) {
    fill({file_, entry}, target);
  } else {
    target.copy_from(read(entry));
  }
}

NamedTensors read_safetensors(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  NamedTensors tensors;
  for (const SafetensorsEntry& entry : file.entries()) {
    tensors.emplace_back(entry.name, file.read(entry));
  }
  return tensors;
}

}  // namespace headlight
