#include "headlight/ops/normalization.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/reduce.h"
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

// running = (1 - momentum) * running + momentum * batch
void update(Tensor& running, const Tensor& batch, double momentum) {
  running.copy_from(running.detach() * (1.0 - momentum) + batch * momentum);
}

// Reshapes [C] to [1, C] or [1, C, 1], so that it broadcasts to x.
Tensor per_channel(const Tensor& values, const Tensor& x) {
  return reshape(values, x.rank() == 2 ? Shape{1, x.size(1)} : Shape{1, x.size(1), 1});
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

Tensor batch_norm(const Tensor& x, const Tensor& gain, const Tensor& shift,
                  RunningStatistics& running, const BatchNormOptions& options) {
  require(x.defined() && (x.rank() == 2 || x.rank() == 3),
          "[batch_norm] expected an input [N, C] or [N, C, L]");
  const Index channels = x.size(1);
  require(running.mean.defined() && running.variance.defined(),
          "[batch_norm] running statistics must be given");
  for (const Tensor& values : {gain, shift, running.mean, running.variance}) {
    if (values.defined()) {
      require_same_type(values, x, "batch_norm");
      require_shape(values, {channels}, "batch_norm", "gain, shift and running statistics");
    }
  }
  Tensor mean_used = per_channel(running.mean.clone(), x);
  Tensor variance_used = per_channel(running.variance.clone(), x);
  if (options.training) {
    const Index count = channels == 0 ? 0 : x.numel() / channels;
    require(count > 1 || channels == 0,
            "[batch_norm] training needs more than one value a channel, got input ", x.shape());
    const std::vector<Index> axes =
        x.rank() == 2 ? std::vector<Index>{0} : std::vector<Index>{0, 2};
    mean_used = mean(x, {.axes = axes, .keepdim = true});
    variance_used = var(x, {.axes = axes, .keepdim = true}, 0);
    const NoGrad no_grad;
    const double unbias = static_cast<double>(count) / static_cast<double>(count - 1);
    update(running.mean, reshape(mean_used, {channels}), options.momentum);
    update(running.variance, reshape(variance_used, {channels}) * unbias, options.momentum);
  }
  const Tensor normalized = (x - mean_used) / sqrt(variance_used + options.epsilon);
  const Tensor scaled = gain.defined() ? normalized * per_channel(gain, x) : normalized;
  return shift.defined() ? scaled + per_channel(shift, x) : scaled;
}

}  // namespace headlight
