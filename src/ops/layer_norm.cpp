#include "headlight/autograd/autograd.h"
#include "headlight/ops/normalization.h"
#include "kernels/loops.h"
#include "ops/common.h"
#include "ops/layer_norm_rows.h"

namespace headlight {
namespace {

// Fixed blocks of rows whose gain and shift gradients are summed apart.
constexpr Index kBlocks = 16;

template <class T>
void forward(const LayerNormInputs& in, double epsilon, Index first, Index last, T* value,
             RowStatistics& statistics) {
  const Index width = in.width();
  const T* x = in.x.data<T>();
  const T* gain = in.gain.data<T>();
  const T* shift = in.shift.data<T>();
  T* mean = statistics.mean.data<T>();
  T* inverse = statistics.inverse_deviation.data<T>();
  kernels::parallel_for(last - first, kernels::row_grain(width), [&](Index begin, Index end) {
    for (Index row = first + begin; row < first + end; ++row) {
      kernels::loops<T>().layer_norm(x + row * width, gain, shift, value + (row - first) * width,
                                     width, static_cast<T>(epsilon), mean + row, inverse + row);
    }
  });
}

template <class T>
LayerNormGradients backward(const LayerNormInputs& in, const Tensor& grad,
                            const RowStatistics& statistics) {
  const Index width = in.width();
  Tensor x_grad = Tensor::empty(in.x.shape(), in.x.dtype());
  Tensor partial = Tensor::zeros({kBlocks, 2, width}, in.x.dtype());  // gain, shift per block
  const Index block_rows = std::max<Index>(1, kernels::chunk_count(in.rows(), kBlocks));
  kernels::parallel_chunks(in.rows(), block_rows, [&](Index, Index block, Index begin, Index end) {
    T* sums = partial.data<T>() + block * 2 * width;
    for (Index row = begin; row < end; ++row) {
      kernels::loops<T>().layer_norm_backward(
          {.x = in.x.data<T>() + row * width,
           .gain = in.gain.data<T>(),
           .y_grad = grad.data<T>() + row * width,
           .x_grad = x_grad.data<T>() + row * width,
           .gain_grad = sums,
           .shift_grad = sums + width,
           .mean = statistics.mean.data<T>()[row],
           .inverse_deviation = statistics.inverse_deviation.data<T>()[row]},
          width);
    }
  });
  Tensor total = Tensor::zeros({2, width}, in.x.dtype());
  for (Index block = 0; block < kBlocks; ++block) {
    kernels::loops<T>().add(total.data<T>(), partial.data<T>() + block * 2 * width, total.data<T>(),
                            2 * width);
  }
  return {x_grad, total.strided_view({width}, {1}), total.strided_view({width}, {1}, width)};
}

Tensor given_or(const Tensor& parameter, double value, const Tensor& x) {
  if (!parameter.defined()) {
    return Tensor::full({x.size(-1)}, value, x.dtype());
  }
  require_same_type(parameter, x, "layer_norm");
  require_shape(parameter, {x.size(-1)}, "layer_norm", "gain and shift");
  return to_contiguous(parameter.detach());
}

}  // namespace

LayerNormInputs layer_norm_inputs(const Tensor& x, const Tensor& gain, const Tensor& shift) {
  return {to_contiguous(x.detach()), given_or(gain, 1, x), given_or(shift, 0, x)};
}

RowStatistics empty_statistics(const LayerNormInputs& in) {
  return {Tensor::empty({in.rows()}, in.x.dtype()), Tensor::empty({in.rows()}, in.x.dtype())};
}

void normalize_rows(const LayerNormInputs& in, double epsilon, Index first, Index last,
                    Tensor& value, RowStatistics& statistics) {
  dispatch_floating(in.x.dtype(), "layer_norm", [&](auto zero) {
    using T = decltype(zero);
    forward<T>(in, epsilon, first, last, value.data<T>(), statistics);
  });
}

LayerNormGradients layer_norm_gradients(const LayerNormInputs& in, const Tensor& grad,
                                        const RowStatistics& statistics) {
  return dispatch_floating(grad.dtype(), "layer_norm", [&](auto zero) {
    return backward<decltype(zero)>(in, to_contiguous(grad), statistics);
  });
}

Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& shift, double epsilon) {
  require(x.defined() && x.rank() >= 1, "[layer_norm] expected an input with at least one axis");
  const LayerNormInputs in = layer_norm_inputs(x, gain, shift);
  Tensor value = Tensor::empty(x.shape(), x.dtype());
  RowStatistics statistics = empty_statistics(in);
  normalize_rows(in, epsilon, 0, in.rows(), value, statistics);
  return record(
      "layer_norm", value, {x, gain, shift},
      [x = SavedTensor("layer_norm", "input", in.x),
       gain = SavedTensor("layer_norm", "gain", in.gain), statistics](auto, const Tensor& grad) {
        const LayerNormGradients all =
            layer_norm_gradients({.x = x, .gain = gain, .shift = {}}, grad, statistics);
        return std::vector<Tensor>{all.x, all.gain, all.shift};
      });
}

}  // namespace headlight
