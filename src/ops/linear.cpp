#include "headlight/autograd/autograd.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "kernels/column_sums.h"
#include "ops/common.h"
#include "ops/matrix.h"

namespace headlight {
namespace {

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require(x.defined() && x.rank() >= 1, "[linear] expected an input with at least one axis");
  require(weight.defined() && weight.rank() == 2, "[linear] expected a weight with two axes");
  require_same_type(x, weight, "linear");
  require(x.size(-1) == weight.size(1), "[linear] input ", x.shape(), " does not fit weight ",
          weight.shape(), ": expected a last axis of ", weight.size(1));
  if (bias.defined()) {
    require_same_type(x, bias, "linear");
    require_shape(bias, {weight.size(0)}, "linear", "bias");
  }
}

// Returns x [N, I] times weight [O, I] transposed, plus bias: [N, O].
Tensor forward(const Tensor& x, const Tensor& weight, const Tensor& bias, Precision precision) {
  const Index outputs = weight.size(0);
  Tensor value = Tensor::empty({x.size(0), outputs}, x.dtype());
  const Tensor offsets = bias.defined() ? to_contiguous(bias) : bias;
  dispatch_floating(x.dtype(), "linear", [&](auto zero) {
    using T = decltype(zero);
    auto product = product_of(matrix_of<T>(x), matrix_of<T>(weight), matrix_of<T>(value),
                              {Transposed::second, precision});
    product.bias = offsets.defined() ? offsets.data<T>() : nullptr;
    kernels::gemm(product);
  });
  return value;
}

// Multiplies two contiguous matrices; the second is never transposed.
Tensor multiply(const Tensor& a, const Tensor& b, const ProductOptions& options) {
  const Index rows = options.transposed == Transposed::first ? a.size(1) : a.size(0);
  Tensor value = Tensor::empty({rows, b.size(1)}, a.dtype());
  dispatch_floating(a.dtype(), "linear", [&](auto zero) {
    using T = decltype(zero);
    kernels::gemm(product_of<T>(matrix_of<T>(a), matrix_of<T>(b), matrix_of<T>(value), options));
  });
  return value;
}

Tensor sum_rows(const Tensor& x) {
  Tensor sums = Tensor::empty({x.size(1)}, x.dtype());
  dispatch_floating(x.dtype(), "linear", [&](auto zero) {
    using T = decltype(zero);
    kernels::column_sums(x.data<T>(), x.size(0), x.size(1), sums.data<T>());
  });
  return sums;
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Precision precision) {
  check_linear(x, weight, bias);
  const Index rows = x.size(-1) == 0 ? 0 : x.numel() / x.size(-1);
  Shape shape = x.shape();
  shape[shape.rank() - 1] = weight.size(0);
  if (x.size(-1) == 0) {
    return bias.defined() ? expand(bias, shape) : Tensor::zeros(shape, x.dtype());
  }
  const auto flat = [rows](const Tensor& tensor) {
    return to_contiguous(tensor).strided_view({rows, tensor.size(-1)}, {tensor.size(-1), 1});
  };
  const Tensor product = forward(flat(x), to_contiguous(weight), bias, precision);
  const Tensor value = product.strided_view(shape, contiguous_strides(shape));
  return record("linear", value, {x, weight, bias}, [flat, precision](auto in, const Tensor& grad) {
    const Tensor grad_rows = flat(grad);  // [N, O]
    std::vector<Tensor> gradients(in.size());
    if (in[0].requires_grad()) {
      gradients[0] = reshape(
          multiply(grad_rows, to_contiguous(in[1]), {Transposed::none, precision}), in[0].shape());
    }
    if (in[1].requires_grad()) {
      gradients[1] = multiply(grad_rows, flat(in[0]), {Transposed::first, precision});
    }
    if (in[2].requires_grad()) {
      gradients[2] = sum_rows(grad_rows);
    }
    return gradients;
  });
}

}  // namespace headlight
