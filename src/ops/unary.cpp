#include <algorithm>
#include <cmath>

#include "headlight/ops/elementwise.h"
#include "ops/common.h"

namespace headlight {
namespace {

template <class F>
Tensor elementwise(const Tensor& x, std::string_view where, F f) {
  require(x.defined(), "[", where, "] the input is undefined");
  return dispatch_floating(x.dtype(), where,
                           [&](auto zero) { return map_elements<decltype(zero)>(x, f); });
}

// Returns slope(x) * grad, element by element, where slope is a function of the values in x.
template <class F>
Tensor chain(const Tensor& x, const Tensor& grad, F slope) {
  return dispatch_floating(x.dtype(), "backward", [&](auto zero) {
    using T = decltype(zero);
    return map_pairs<T, T>(x, grad, [&](T value, T g) { return slope(value) * g; });
  });
}

// 1 / (1 + exp(-x)), from exponentials of negative numbers only, which cannot overflow.
template <class T>
T logistic(T x) {
  const T small = std::exp(-std::abs(x));
  return x < 0 ? small / (1 + small) : 1 / (1 + small);
}

}  // namespace

Tensor neg(const Tensor& x) {
  const Tensor value = elementwise(x, "neg", [](auto v) { return -v; });
  return record_shapes("neg", value, {x},
                       [](auto, const Tensor& grad) { return std::vector<Tensor>{neg(grad)}; });
}

Tensor pow(const Tensor& x, double exponent) {
  const Tensor value = elementwise(x, "pow", [exponent](auto v) {
    return static_cast<decltype(v)>(std::pow(v, static_cast<decltype(v)>(exponent)));
  });
  return record("pow", value, {x}, [exponent](auto inputs, const Tensor& grad) {
    return std::vector<Tensor>{chain(inputs[0], grad, [exponent](auto v) {
      using T = decltype(v);
      // d(x^0) is 0 everywhere, also at x = 0, where 0 * x^-1 would be NaN.
      return exponent == 0 ? T{0} : static_cast<T>(exponent) * std::pow(v, T(exponent - 1));
    })};
  });
}

Tensor exp(const Tensor& x) {
  const Tensor value = map_with_loop(
      "exp", [](const auto& loops) { return loops.exp; }, x);
  return record_with_output("exp", value, x,
                            [](const Tensor& y, const Tensor& grad) { return mul(grad, y); });
}

Tensor log(const Tensor& x) {
  const Tensor value = map_with_loop(
      "log", [](const auto& loops) { return loops.log; }, x);
  return record("log", value, {x}, [](auto inputs, const Tensor& grad) {
    return std::vector<Tensor>{div(grad, inputs[0])};
  });
}

Tensor sqrt(const Tensor& x) {
  const Tensor value = elementwise(x, "sqrt", [](auto v) { return std::sqrt(v); });
  return record_with_output("sqrt", value, x, [](const Tensor& y, const Tensor& grad) {
    return chain(y, grad, [](auto root) { return decltype(root)(0.5) / root; });
  });
}

Tensor tanh(const Tensor& x) {
  const Tensor value = map_with_loop(
      "tanh", [](const auto& loops) { return loops.tanh; }, x);
  return record_with_output("tanh", value, x, [](const Tensor& y, const Tensor& grad) {
    return chain(y, grad, [](auto t) { return 1 - t * t; });
  });
}

Tensor sigmoid(const Tensor& x) {
  const Tensor value = elementwise(x, "sigmoid", [](auto v) { return logistic(v); });
  return record_with_output("sigmoid", value, x, [](const Tensor& y, const Tensor& grad) {
    return chain(y, grad, [](auto s) { return s * (1 - s); });
  });
}

Tensor clamp(const Tensor& x, double low, double high) {
  require(low <= high, "[clamp] expected low <= high, got ", low, " and ", high);
  const Tensor value = elementwise(x, "clamp", [=](auto v) {
    using T = decltype(v);
    return std::clamp(v, static_cast<T>(low), static_cast<T>(high));
  });
  return record("clamp", value, {x}, [=](auto inputs, const Tensor& grad) {
    return std::vector<Tensor>{chain(inputs[0], grad, [=](auto v) {
      using T = decltype(v);
      return static_cast<T>(v >= static_cast<T>(low) && v <= static_cast<T>(high) ? 1 : 0);
    })};
  });
}

Tensor cast(const Tensor& x, DType dtype) {
  require(x.defined() && is_floating(x.dtype()) && is_floating(dtype),
          "[cast] expected floating types");
  const Tensor value = convert(x, dtype).detach();
  return record_shapes("cast", value, {x}, [](auto inputs, const Tensor& grad) {
    return std::vector<Tensor>{convert(grad, inputs[0].dtype())};
  });
}

}  // namespace headlight
