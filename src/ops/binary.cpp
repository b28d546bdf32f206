#include "headlight/ops/elementwise.h"
#include "headlight/ops/reduce.h"
#include "ops/common.h"

namespace headlight {
namespace {

template <class F>
Tensor pairwise(const Tensor& a, const Tensor& b, std::string_view where, F f) {
  require(a.defined() && b.defined(), "[", where, "] an operand is undefined");
  require_same_type(a, b, where);
  const Shape shape = broadcast_shapes(a.shape(), b.shape(), where);
  return dispatch_floating(a.dtype(), where, [&](auto zero) {
    using T = decltype(zero);
    return map_pairs<T, T>(broadcast_view(a, shape), broadcast_view(b, shape), f);
  });
}

// Returns the gradients of two operands; skips operands that require no gradient.
template <class GradA, class GradB>
std::vector<Tensor> pair_gradients(std::span<const SavedTensor> inputs, GradA grad_a,
                                   GradB grad_b) {
  std::vector<Tensor> gradients(2);
  if (inputs[0].requires_grad()) {
    gradients[0] = sum_to_shape(grad_a(), inputs[0].shape());
  }
  if (inputs[1].requires_grad()) {
    gradients[1] = sum_to_shape(grad_b(), inputs[1].shape());
  }
  return gradients;
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  require(a.defined() && b.defined(), "[add] an operand is undefined");
  // The residual stream adds tensors of equal shape, often enough to use the vectorised loop.
  const bool plain =
      a.shape() == b.shape() && a.dtype() == b.dtype() && a.is_contiguous() && b.is_contiguous();
  const Tensor value = plain ? map_with_loop(
                                   "add", [](const auto& loops) { return loops.add; }, a, b)
                             : pairwise(a, b, "add", [](auto x, auto y) { return x + y; });
  return record_shapes("add", value, {a, b}, [](auto inputs, const Tensor& grad) {
    return pair_gradients(
        inputs, [&] { return grad; }, [&] { return grad; });
  });
}

Tensor sub(const Tensor& a, const Tensor& b) {
  const Tensor value = pairwise(a, b, "sub", [](auto x, auto y) { return x - y; });
  return record_shapes("sub", value, {a, b}, [](auto inputs, const Tensor& grad) {
    return pair_gradients(
        inputs, [&] { return grad; }, [&] { return neg(grad); });
  });
}

Tensor mul(const Tensor& a, const Tensor& b) {
  const Tensor value = pairwise(a, b, "mul", [](auto x, auto y) { return x * y; });
  return record("mul", value, {a, b}, [](auto inputs, const Tensor& grad) {
    return pair_gradients(
        inputs, [&] { return mul(grad, inputs[1]); }, [&] { return mul(grad, inputs[0]); });
  });
}

Tensor div(const Tensor& a, const Tensor& b) {
  const Tensor value = pairwise(a, b, "div", [](auto x, auto y) { return x / y; });
  return record("div", value, {a, b}, [](auto inputs, const Tensor& grad) {
    const Tensor quotient = div(grad, inputs[1]);
    return pair_gradients(
        inputs, [&] { return quotient; },
        [&] { return neg(div(mul(quotient, inputs[0]), inputs[1])); });
  });
}

Tensor& operator+=(Tensor& a, const Tensor& b) {
  const Tensor sum = add(a, b);
  require(sum.shape() == a.shape(), "[+=] ", b.shape(), " does not broadcast to ", a.shape(),
          "; write a = a + b");
  return a = sum;
}

Tensor add(const Tensor& a, double b) { return add(a, Tensor::scalar(b, a.dtype())); }

Tensor mul(const Tensor& a, double b) { return mul(a, Tensor::scalar(b, a.dtype())); }

}  // namespace headlight
