#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/kernels/machine/machine.h"
#include "headlight/tensor/random.h"
#include "headlight/tensor/tensor.h"
#include "support/catch.h"
#include "support/scopes.h"

// Helpers for tests of tensors and ops.
namespace headlight::test {

using Ids = std::vector<std::int32_t>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr DType kDouble = DType::float64;

inline Tensor doubles(std::initializer_list<double> values, const Shape& shape) {
  return Tensor::from(values, shape);
}

inline Tensor floats(std::initializer_list<float> values, const Shape& shape) {
  return Tensor::from(values, shape);
}

inline Tensor ints(std::initializer_list<std::int32_t> values, const Shape& shape) {
  return Tensor::from(values, shape);
}

inline Tensor bools(std::initializer_list<bool> values, const Shape& shape) {
  return Tensor::from(values, shape);
}

// Reproducible values from -1 to 1.
inline Tensor noise(const Shape& shape, std::uint64_t stream, DType dtype = DType::float64) {
  return random_uniform(shape, {77, stream}, -1, 1, dtype);
}

// Reproducible normal numbers.
inline std::vector<float> gaussians(Index count, std::uint64_t seed) {
  const Tensor values = random_normal({count}, {seed, 1});
  return {values.data<float>(), values.data<float>() + count};
}

// Returns the elements of a tensor of ids.
inline Ids ids_of(const Tensor& tensor) {
  const auto* values = tensor.data<std::int32_t>();
  return {values, values + tensor.numel()};
}

// Returns 0, 1, 2, ...: each token equals its position.
inline Ids numbers(std::int32_t count) { return ids_of(Tensor::arange(count)); }

inline Tensor leaf(Tensor values) { return values.set_requires_grad(); }

// Checks that every element is within `tolerance` of its expected value; NaN expects NaN.
inline void check_values(const Tensor& actual, const std::vector<double>& expected,
                         double tolerance = 0) {
  const std::vector<double> values = actual.to_vector();
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    INFO("element " << i << " of shape " << actual.shape());
    if (expected[i] != expected[i]) {
      CHECK(values[i] != values[i]);
    } else if (values[i] != expected[i]) {  // infinities have no difference
      CHECK(values[i] == Approx(expected[i]).epsilon(0).margin(tolerance));
    }
  }
}

inline void check_close(const Tensor& actual, const Tensor& expected, double tolerance) {
  REQUIRE(actual.shape() == expected.shape());
  check_values(actual, expected.to_vector(), tolerance);
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) {
    return false;
  }
  const Tensor left = to_contiguous(a);
  const Tensor right = to_contiguous(b);
  return dispatch_any(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return a.numel() == 0 || std::memcmp(left.data<T>(), right.data<T>(),
                                         static_cast<std::size_t>(a.numel()) * sizeof(T)) == 0;
  });
}

using ThreadScope = SettingScope<&thread_count, &set_thread_count>;

}  // namespace headlight::test
