#include "headlight/ops/fused_layers.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "kernels/column_sums.h"
#include "ops/common.h"
#include "ops/matrix.h"
#include "ops/norm_rows.h"

namespace headlight {
namespace {

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  std::string_view where) {
  require(x.defined() && x.rank() >= 1, "[", where, "] expected an input with at least one axis");
  require(weight.defined() && weight.rank() == 2, "[", where, "] expected a weight with two axes");
  require_same_type(x, weight, where);
  require(x.size(-1) == weight.size(1), "[", where, "] input ", x.shape(),
          " does not match weight ", weight.shape(), ": expected a last axis of ", weight.size(1));
  if (bias.defined()) {
    require_same_type(x, bias, where);
    require_shape(bias, {weight.size(0)}, where, "bias");
  }
}

// Returns x [..., C] as contiguous rows [rows, C].
Tensor flat(const Tensor& x, Index rows) {
  return to_contiguous(x).strided_view({rows, x.size(-1)}, {x.size(-1), 1});
}

// Returns rows [N, O] in the shape [..., I] with a last axis of O.
Tensor unflat(const Tensor& rows, Shape shape) {
  shape[shape.rank() - 1] = rows.size(1);
  return rows.strided_view(shape, contiguous_strides(shape));
}

// Multiplies two contiguous matrices and adds the bias, if it is defined, to every row.
Tensor multiply(const Tensor& a, const Tensor& b, const ProductOptions& options,
                const Tensor& bias = {}) {
  const Index rows = options.transposed == Transposed::first ? a.size(1) : a.size(0);
  const Index columns = options.transposed == Transposed::second ? b.size(0) : b.size(1);
  Tensor value = Tensor::empty({rows, columns}, a.dtype());
  const Tensor offsets = bias.defined() ? to_contiguous(bias) : bias;
  dispatch_floating(a.dtype(), "linear", [&](auto zero) {
    using T = decltype(zero);
    auto product = product_of<T>(matrix_of<T>(a), matrix_of<T>(b), matrix_of<T>(value), options);
    product.bias = offsets.defined() ? offsets.data<T>() : nullptr;
    kernels::gemm(product);
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
  check_linear(x, weight, bias, "linear");
  if (x.size(-1) == 0) {
    Shape shape = x.shape();
    shape[shape.rank() - 1] = weight.size(0);
    return bias.defined() ? expand(bias, shape) : Tensor::zeros(shape, x.dtype());
  }
  const Index rows = x.numel() / x.size(-1);
  const Tensor flat_value =
      multiply(flat(x, rows), to_contiguous(weight), {Transposed::second, precision}, bias);
  const Tensor value = unflat(flat_value, x.shape());
  return record("linear", value, {x, weight, bias}, [rows, precision](auto in, const Tensor& grad) {
    const Tensor grad_rows = flat(grad, rows);  // [N, O]
    std::vector<Tensor> gradients(in.size());
    if (in[0].requires_grad()) {
      gradients[0] = reshape(
          multiply(grad_rows, to_contiguous(in[1]), {Transposed::none, precision}), in[0].shape());
    }
    if (in[1].requires_grad()) {
      gradients[1] = multiply(grad_rows, flat(in[0], rows), {Transposed::first, precision});
    }
    if (in[2].requires_grad()) {
      gradients[2] = sum_rows(grad_rows);
    }
    return gradients;
  });
}

Tensor norm_linear(const Tensor& x, const NormParameters& norm, const Tensor& weight,
                   const Tensor& bias, Precision precision) {
  require(x.defined() && x.rank() >= 1 && x.size(-1) > 0,
          "[norm_linear] expected an input with a last axis that is not empty");
  check_linear(x, weight, bias, "norm_linear");
  const NormInputs inputs = norm_inputs("norm_linear", x, norm);
  RowStatistics statistics = empty_statistics(inputs);
  const Tensor normalized = normalized_rows(inputs, 0, inputs.rows(), statistics);
  const Tensor flat_value =
      multiply(normalized, to_contiguous(weight), {Transposed::second, precision}, bias);
  const Tensor value = unflat(flat_value, x.shape());
  return record("norm_linear", value, {x, weight, norm.gain, norm.shift, bias},
                [inputs, statistics, precision](auto in, const Tensor& grad) mutable {
                  const Tensor rows = normalized_rows(inputs, 0, inputs.rows(), statistics);
                  const Tensor grad_rows = flat(grad, rows.size(0));  // [N, O]
                  const Tensor rows_grad =
                      multiply(grad_rows, to_contiguous(in[1]), {Transposed::none, precision});
                  const NormGradients all =
                      norm_gradients(inputs, unflat(rows_grad, inputs.x.shape()), statistics);
                  std::vector<Tensor> gradients{all.x, {}, all.gain, all.shift, {}};
                  if (in[1].requires_grad()) {
                    gradients[1] = multiply(grad_rows, rows, {Transposed::first, precision});
                  }
                  if (in[4].requires_grad()) {
                    gradients[4] = sum_rows(grad_rows);
                  }
                  return gradients;
                });
}

}  // namespace headlight
