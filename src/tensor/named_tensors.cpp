#include "headlight/tensor/named_tensors.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>

#include "base/strings/printable.h"
#include "headlight/base/error.h"

namespace headlight {

void copy_tensors(const NamedTensors& from, const NamedTensors& into, const std::string& where) {
  std::map<std::string, Tensor> sources(from.begin(), from.end());
  for (const auto& [name, target] : into) {
    const auto source = sources.find(name);
    require(source != sources.end(), where, ": tensor ", name, " is missing");
    require(source->second.shape() == target.shape(), where, ": tensor ", name, ": expected shape ",
            target.shape(), ", got ", source->second.shape());
    Tensor elements = target;
    elements.copy_from(source->second);
    sources.erase(source);
  }
  require(sources.empty(), where, ": unexpected tensor ",
          sources.empty() ? "" : in_quotes(sources.begin()->first));
}

namespace {

std::int16_t bits_of(BFloat16 value) { return static_cast<std::int16_t>(value.bits); }
std::int32_t bits_of(float value) { return std::bit_cast<std::int32_t>(value); }
std::int64_t bits_of(double value) { return std::bit_cast<std::int64_t>(value); }

// Returns true if no element is infinite or NaN: their magnitudes are the largest as bits. Has no
// early exit, so that compilers vectorise it.
template <class T>
bool are_finite(const T* values, Index count) {
  using Bits = decltype(bits_of(T()));
  const Bits infinity = bits_of(T(std::numeric_limits<float>::infinity()));
  Bits largest = 0;
  for (Index i = 0; i < count; ++i) {
    const auto magnitude = static_cast<Bits>(bits_of(values[i]) & std::numeric_limits<Bits>::max());
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest < infinity;
}

bool are_finite(const Tensor& x) {
  const Tensor elements = to_contiguous(x);
  const Index count = elements.numel();
  switch (x.dtype()) {
    case DType::bfloat16:
      return are_finite(elements.data<BFloat16>(), count);
    case DType::float64:
      return are_finite(elements.data<double>(), count);
    default:
      return are_finite(elements.data<float>(), count);
  }
}

}  // namespace

void require_finite(const NamedTensors& tensors, const std::string& where) {
  for (const auto& [name, tensor] : tensors) {
    require(is_floating(tensor.dtype()), where, name, ": expected floating-point numbers, got ",
            tensor.dtype());
    require(are_finite(tensor), where, name, " contains values that are not finite");
  }
}

}  // namespace headlight
