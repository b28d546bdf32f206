#include <cmath>
#include <numbers>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/elementwise.h"
#include "ops/common.h"

namespace headlight {
namespace {

Tensor gelu_tanh(const Tensor& x) {
  return map_with_loop(x, "gelu", [](const auto& loops) { return loops.gelu; });
}

Tensor gelu_tanh_backward(const Tensor& x, const Tensor& grad) {
  return map_pairs_with_loop(x, grad, "gelu",
                             [](const auto& loops) { return loops.gelu_backward; });
}

template <class T>
T normal_cdf(T x) {
  return T(0.5) * (1 + std::erf(x / std::numbers::sqrt2_v<T>));
}

template <class T>
T normal_density(T x) {
  return std::exp(T(-0.5) * x * x) * std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
}

Tensor gelu_erf(const Tensor& x) {
  return dispatch_floating(x.dtype(), "gelu", [&](auto zero) {
    using T = decltype(zero);
    return map_elements<T>(x, [](T v) { return v * normal_cdf(v); });
  });
}

Tensor gelu_erf_backward(const Tensor& x, const Tensor& grad) {
  return dispatch_floating(x.dtype(), "gelu", [&](auto zero) {
    using T = decltype(zero);
    return map_pairs<T, T>(x, grad,
                           [](T v, T g) { return g * (normal_cdf(v) + v * normal_density(v)); });
  });
}

}  // namespace

Tensor gelu(const Tensor& x, GeluForm form) {
  require(x.defined(), "[gelu] the input is undefined");
  const Tensor value = form == GeluForm::tanh ? gelu_tanh(x) : gelu_erf(x);
  return record("gelu", value, {x}, [form](auto inputs, const Tensor& grad) {
    const Tensor& input = inputs[0];
    return std::vector<Tensor>{form == GeluForm::tanh ? gelu_tanh_backward(input, grad)
                                                      : gelu_erf_backward(input, grad)};
  });
}

}  // namespace headlight
