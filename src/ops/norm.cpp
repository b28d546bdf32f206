#include "headlight/ops/normalization.h"
#include "ops/common.h"
#include "ops/norm_rows.h"

namespace headlight {
namespace {

// Number of fixed blocks of rows whose gain and shift gradients are summed separately.
constexpr Index kBlocks = 16;

// Returns the op's name for messages and the autograd graph.
const char* op_name(NormKind kind) { return kind == NormKind::layer ? "layer_norm" : "rms_norm"; }

template <class T>
const kernels::NormLoops<T>& norm_loops(NormKind kind) {
  return kind == NormKind::layer ? kernels::loops<T>().layer_norm : kernels::loops<T>().rms_norm;
}

template <class T>
NormGradients backward(const NormInputs& in, const Tensor& grad, const RowStatistics& statistics) {
  const Index width = in.width();
  Tensor x_grad = Tensor::empty(in.x.shape(), in.x.dtype());
  Tensor partial = Tensor::zeros({kBlocks, 2, width}, in.x.dtype());  // gain, shift per block
  const Index block_rows = std::max<Index>(1, kernels::chunk_count(in.rows(), kBlocks));
  const T* x = in.x.get().data<T>();
  const T* factor = in.factor.get().data<T>();
  const auto loop = norm_loops<T>(in.kind).backward;
  kernels::parallel_chunks(in.rows(), block_rows, [&](Index, Index block, Index begin, Index end) {
    T* sums = partial.data<T>() + block * 2 * width;
    for (Index row = begin; row < end; ++row) {
      loop({.x = x + row * width,
            .gain = factor,
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

Tensor given_or(const Tensor& parameter, double value, const Tensor& x, NormKind kind) {
  if (!parameter.defined()) {
    return Tensor::full({x.size(-1)}, value, x.dtype());
  }
  require_same_type(parameter, x, op_name(kind));
  require_shape(parameter, {x.size(-1)}, op_name(kind), "gain and shift");
  return to_contiguous(parameter.detach());
}

Tensor one_plus(const Tensor& gain) {
  return dispatch_floating(gain.dtype(), "rms_norm", [&](auto zero) {
    using T = decltype(zero);
    return map_elements<T>(gain, [](T v) { return 1 + v; });
  });
}

}  // namespace

NormInputs norm_inputs(const char* op, const Tensor& x, const NormParameters& norm) {
  const Tensor gain = given_or(norm.gain, 1, x, norm.kind);
  const Tensor factor = norm.gain.defined() && norm.gain_plus_one ? one_plus(gain) : gain;
  return {.x = {op, "input", to_contiguous(x.detach())},
          .factor = {op, "gain", factor},
          .shift = {op, "shift", given_or(norm.shift, 0, x, norm.kind)},
          .epsilon = norm.epsilon,
          .kind = norm.kind};
}

RowStatistics empty_statistics(const NormInputs& in) {
  return {Tensor::empty({in.rows()}, in.x.dtype()), Tensor::empty({in.rows()}, in.x.dtype())};
}

Tensor normalized_rows(const NormInputs& in, Index first, Index last, RowStatistics& statistics) {
  const Index width = in.width();
  Tensor value = Tensor::empty({last - first, width}, in.x.dtype());
  dispatch_floating(in.x.dtype(), op_name(in.kind), [&](auto zero) {
    using T = decltype(zero);
    const T* x = in.x.get().data<T>();
    const T* factor = in.factor.get().data<T>();
    const T* shift = in.shift.get().data<T>();
    T* to = value.data<T>();
    T* mean = statistics.mean.data<T>();
    T* inverse = statistics.inverse_deviation.data<T>();
    const auto loop = norm_loops<T>(in.kind).value;
    kernels::parallel_for(last - first, kernels::row_grain(width), [&](Index begin, Index end) {
      for (Index row = first + begin; row < first + end; ++row) {
        loop(x + row * width, factor, shift, to + (row - first) * width, width,
             static_cast<T>(in.epsilon), mean + row, inverse + row);
      }
    });
  });
  return value;
}

NormGradients norm_gradients(const NormInputs& in, const Tensor& grad,
                             const RowStatistics& statistics) {
  return dispatch_floating(grad.dtype(), op_name(in.kind), [&](auto zero) {
    return backward<decltype(zero)>(in, to_contiguous(grad), statistics);
  });
}

Tensor normalize(const Tensor& x, const NormParameters& norm) {
  const char* op = op_name(norm.kind);
  require(x.defined() && x.rank() >= 1, "[", op, "] expected an input with at least one axis");
  const NormInputs in = norm_inputs(op, x, norm);
  RowStatistics statistics = empty_statistics(in);
  const Tensor rows = normalized_rows(in, 0, in.rows(), statistics);
  const Tensor value = rows.strided_view(x.shape(), contiguous_strides(x.shape()));
  return record(op, value, {x, norm.gain, norm.shift}, [in, statistics](auto, const Tensor& grad) {
    const NormGradients all = norm_gradients(in, grad, statistics);
    return std::vector<Tensor>{all.x, all.gain, all.shift};
  });
}

Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& shift, double epsilon) {
  return normalize(x, {.gain = gain, .shift = shift, .epsilon = epsilon});
}

Tensor rms_norm(const Tensor& x, const Tensor& gain, double epsilon) {
  return normalize(x, {.gain = gain, .shift = {}, .epsilon = epsilon, .kind = NormKind::rms});
}

}  // namespace headlight
