#include "headlight/ops/compare.h"

#include <algorithm>
#include <cmath>

#include "ops/common.h"

namespace headlight {
namespace {

// Returns compare(a, b) for every pair of elements, as T. The elements of all types are exact in
// float64, and non-zero numbers are true in bool.
template <class T, class Compare>
Tensor compared(const Tensor& a, const Tensor& b, std::string_view where, Compare compare) {
  require(a.defined() && b.defined(), "[", where, "] an operand is undefined");
  const Shape shape = broadcast_shapes(a.shape(), b.shape(), where);
  const auto operand = [&](const Tensor& x) {
    return broadcast_view(convert(x, dtype_of<T>()), shape);
  };
  return map_pairs<T, T, bool>(operand(a), operand(b), compare);
}

// Returns `b` as an operand for a comparison with a.
Tensor number_beside(const Tensor& a, double b) {
  return Tensor::scalar(b, a.defined() && is_floating(a.dtype()) ? a.dtype() : DType::float64);
}

bool is_close(double a, double b, const CloseOptions& options) {
  if (std::isnan(a) || std::isnan(b)) {
    return options.equal_nan && std::isnan(a) && std::isnan(b);
  }
  return a == b ||
         (std::isfinite(b) && std::abs(a - b) <= options.absolute + options.relative * std::abs(b));
}

}  // namespace

Tensor equal(const Tensor& a, const Tensor& b) {
  return compared<double>(a, b, "equal", [](double x, double y) { return x == y; });
}

Tensor not_equal(const Tensor& a, const Tensor& b) {
  return compared<double>(a, b, "not_equal", [](double x, double y) { return x != y; });
}

Tensor less(const Tensor& a, const Tensor& b) {
  return compared<double>(a, b, "less", [](double x, double y) { return x < y; });
}

Tensor less_equal(const Tensor& a, const Tensor& b) {
  return compared<double>(a, b, "less_equal", [](double x, double y) { return x <= y; });
}

Tensor greater(const Tensor& a, const Tensor& b) {
  return compared<double>(a, b, "greater", [](double x, double y) { return x > y; });
}

Tensor greater_equal(const Tensor& a, const Tensor& b) {
  return compared<double>(a, b, "greater_equal", [](double x, double y) { return x >= y; });
}

Tensor equal(const Tensor& a, double b) { return equal(a, number_beside(a, b)); }

Tensor not_equal(const Tensor& a, double b) { return not_equal(a, number_beside(a, b)); }

Tensor less(const Tensor& a, double b) { return less(a, number_beside(a, b)); }

Tensor less_equal(const Tensor& a, double b) { return less_equal(a, number_beside(a, b)); }

Tensor greater(const Tensor& a, double b) { return greater(a, number_beside(a, b)); }

Tensor greater_equal(const Tensor& a, double b) { return greater_equal(a, number_beside(a, b)); }

Tensor logical_not(const Tensor& x) {
  require(x.defined(), "[logical_not] the input is undefined");
  return equal(x, 0);
}

Tensor logical_and(const Tensor& a, const Tensor& b) {
  return compared<bool>(a, b, "logical_and", [](bool x, bool y) { return x && y; });
}

Tensor logical_or(const Tensor& a, const Tensor& b) {
  return compared<bool>(a, b, "logical_or", [](bool x, bool y) { return x || y; });
}

bool allclose(const Tensor& a, const Tensor& b, const CloseOptions& options) {
  const Tensor close = compared<double>(
      a, b, "allclose", [&](double x, double y) { return is_close(x, y, options); });
  return std::all_of(close.data<bool>(), close.data<bool>() + close.numel(),
                     [](bool yes) { return yes; });
}

}  // namespace headlight
