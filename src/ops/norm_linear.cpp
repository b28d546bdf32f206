#include "headlight/autograd/autograd.h"
#include "headlight/ops/fused_layers.h"
#include "kernels/column_sums.h"
#include "ops/common.h"
#include "ops/matrix.h"
#include "ops/norm_rows.h"

namespace headlight {
namespace {

void check_norm_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require(x.defined() && x.rank() >= 1 && x.size(-1) > 0,
          "[norm_linear] expected an input with a last axis that is not empty");
  require(weight.defined() && weight.rank() == 2, "[norm_linear] expected a weight with two axes");
  require_same_type(x, weight, "norm_linear");
  require(x.size(-1) == weight.size(1), "[norm_linear] input ", x.shape(), " does not fit weight ",
          weight.shape());
  if (bias.defined()) {
    require_same_type(x, bias, "norm_linear");
    require_shape(bias, {weight.size(0)}, "norm_linear", "bias");
  }
}

// Values that backward needs.
struct Saved {
  SavedNormInputs in;
  RowStatistics statistics;
  Precision precision;
};

Tensor normalized(const NormInputs& in, Saved& saved) {
  Tensor rows = Tensor::empty({in.rows(), in.width()}, in.x.dtype());
  normalize_rows(in, 0, in.rows(), rows, saved.statistics);
  return rows;
}

Tensor forward(Saved& saved, const Tensor& weight, const Tensor& bias) {
  const NormInputs in = saved.in.get();
  Shape shape = in.x.shape();
  shape[shape.rank() - 1] = weight.size(0);
  Tensor value = Tensor::empty(shape, weight.dtype());
  const Tensor rows = normalized(in, saved);
  const Tensor table = to_contiguous(weight);
  const Tensor offsets = bias.defined() ? to_contiguous(bias) : bias;
  dispatch_floating(weight.dtype(), "norm_linear", [&](auto zero) {
    using T = decltype(zero);
    auto product = product_of<T>(matrix_of<T>(rows), matrix_of<T>(table),
                                 {value.data<T>(), rows.size(0), weight.size(0)},
                                 {Transposed::second, saved.precision});
    product.bias = offsets.defined() ? offsets.data<T>() : nullptr;
    kernels::gemm(product);
  });
  return value;
}

struct Gradients {
  NormGradients norm;
  Tensor weight;
  Tensor bias;
};

template <class T>
Gradients backward(Saved saved, const Tensor& weight, const Tensor& grad) {
  const NormInputs in = saved.in.get();
  const Tensor rows = normalized(in, saved);
  const Matrix<const T> output_grad{grad.data<T>(), rows.size(0), weight.size(0)};
  const Tensor table = to_contiguous(weight);
  Gradients result;
  result.weight = Tensor::empty(weight.shape(), weight.dtype());
  kernels::gemm(product_of<T>(output_grad, matrix_of<T>(rows), matrix_of<T>(result.weight),
                              {Transposed::first, saved.precision}));
  result.bias = Tensor::empty({weight.size(0)}, weight.dtype());
  kernels::column_sums(output_grad.data, output_grad.rows, output_grad.columns,
                       result.bias.data<T>());
  Tensor rows_grad = Tensor::empty(in.x.shape(), weight.dtype());
  kernels::gemm(product_of<T>(output_grad, matrix_of<T>(table), matrix_of<T>(rows_grad),
                              {Transposed::none, saved.precision}));
  result.norm = norm_gradients(in, rows_grad, saved.statistics);
  return result;
}

}  // namespace

Tensor norm_linear(const Tensor& x, const NormParameters& norm, const Tensor& weight,
                   const Tensor& bias, Precision precision) {
  check_norm_linear(x, weight, bias);
  const NormInputs rows = norm_inputs(x, norm);
  Saved saved{{"norm_linear", rows}, empty_statistics(rows), precision};
  const Tensor value = forward(saved, weight, bias);
  return record(
      "norm_linear", value, {x, weight, norm.gain, norm.shift, bias},
      [saved](auto in, const Tensor& grad) {
        const Gradients all = dispatch_floating(grad.dtype(), "norm_linear", [&](auto zero) {
          return backward<decltype(zero)>(saved, in[1], to_contiguous(grad));
        });
        return std::vector<Tensor>{all.norm.x, all.weight, all.norm.gain, all.norm.shift, all.bias};
      });
}

}  // namespace headlight
