#include "headlight/ops/reduce.h"

#include <array>
#include <cmath>
#include <limits>

#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "ops/common.h"

namespace headlight {
namespace {

// The kept and the reduced axes of a reduction's input.
struct Reduction {
  Shape kept;          // sizes of the kept axes
  Shape kept_strides;  // in elements of the input
  Shape reduced;       // sizes of the reduced axes
  Shape reduced_strides;
  Shape keepdim_shape;  // shape of the result, with reduced axes of size 1

  Index group_size() const { return numel(reduced); }  // elements per output
};

std::array<bool, kMaxRank> chosen_axes(const Tensor& x, const std::vector<Index>& axes,
                                       std::string_view where) {
  std::array<bool, kMaxRank> chosen{};
  chosen.fill(axes.empty());
  for (const Index given : axes) {
    const Index axis = normalize_axis(given, x.rank(), where);
    require(!chosen[static_cast<std::size_t>(axis)], "[", where, "] axis ", given,
            " is named twice");
    chosen[static_cast<std::size_t>(axis)] = true;
  }
  return chosen;
}

Reduction plan(const Tensor& x, const ReduceOptions& options, std::string_view where) {
  require(x.defined(), "[", where, "] the input is undefined");
  const auto chosen = chosen_axes(x, options.axes, where);
  Reduction result;
  for (Index axis = 0; axis < x.rank(); ++axis) {
    const bool is_reduced = chosen[static_cast<std::size_t>(axis)];
    (is_reduced ? result.reduced : result.kept).push_back(x.shape()[axis]);
    (is_reduced ? result.reduced_strides : result.kept_strides).push_back(x.strides()[axis]);
    result.keepdim_shape.push_back(is_reduced ? 1 : x.shape()[axis]);
  }
  return result;
}

// result[o] = finish(fold of step over the group of o, beginning with `start`), groups in parallel.
template <class T, class State, class Step, class Finish>
Tensor reduce(const Tensor& x, const Reduction& axes, State start, Step step, Finish finish) {
  Tensor result = Tensor::empty(axes.keepdim_shape, x.dtype());
  T* to = result.data<T>();
  const T* from = x.data<T>();
  const StridedRows<1> groups(axes.kept, {axes.kept_strides});
  const StridedRows<1> rows(axes.reduced, {axes.reduced_strides});
  const Index group_size = axes.group_size();
  kernels::parallel_for(
      result.numel(), kernels::row_grain(group_size), [&](Index begin, Index end) {
        for (Index output = begin; output < end; ++output) {
          const Index row_of_groups = output / groups.length;
          const Index column = output - row_of_groups * groups.length;
          const T* group = from + groups.start(row_of_groups)[0] + column * groups.step[0];
          State state = start;
          for (Index row = 0; row < (group_size == 0 ? 0 : rows.count); ++row) {
            const T* values = group + rows.start(row)[0];
            for (Index i = 0; i < rows.length; ++i) {
              state = step(state, values[i * rows.step[0]]);
            }
          }
          to[output] = static_cast<T>(finish(state));
        }
      });
  return result;
}

Tensor drop_reduced(const Tensor& value, const Reduction& axes, bool keepdim) {
  return keepdim ? value : value.strided_view(axes.kept, contiguous_strides(axes.kept));
}

// Broadcasts the gradient of an output to the shape of the input.
Tensor spread(const Tensor& grad, const Shape& keepdim_shape, const Shape& shape) {
  const Tensor kept = to_contiguous(grad);
  return broadcast_view(kept.strided_view(keepdim_shape, contiguous_strides(keepdim_shape)), shape);
}

Tensor scaled_sum(const char* op, const Tensor& x, const ReduceOptions& options, bool average) {
  const Reduction axes = plan(x, options, op);
  const double factor = average ? 1.0 / static_cast<double>(axes.group_size()) : 1.0;
  const Tensor value = dispatch_floating(x.dtype(), op, [&](auto zero) {
    using T = decltype(zero);
    return reduce<T>(
        x, axes, 0.0, [](double state, T v) { return state + static_cast<double>(v); },
        [factor](double state) { return state * factor; });
  });
  return record_shapes(
      op, drop_reduced(value, axes, options.keepdim), {x},
      [factor, keepdim_shape = axes.keepdim_shape](auto inputs, const Tensor& grad) {
        const Tensor scaled = factor == 1.0 ? grad : mul(grad, factor);
        return std::vector<Tensor>{spread(scaled, keepdim_shape, inputs[0].shape())};
      });
}

// Returns whole numbers as int32.
Tensor as_integers(const char* op, const Tensor& numbers) {
  using Limits = std::numeric_limits<std::int32_t>;
  for (const double value : numbers.to_vector()) {
    require(value >= Limits::min() && value <= Limits::max(), "[", op, "] ", value,
            " does not fit int32; convert the tensor to float64 first");
  }
  return convert(numbers, DType::int32);
}

bool is_whole(const Tensor& x) { return x.defined() && !is_floating(x.dtype()); }

Tensor variance(const char* op, const Tensor& x, const ReduceOptions& options, Index correction) {
  const Reduction axes = plan(x, options, op);
  const Index degrees = axes.group_size() - correction;
  require(degrees > 0 || numel(axes.kept) == 0, "[", op, "] expected more than ", correction,
          " elements to reduce, got ", axes.group_size());
  const Tensor centred =
      sub(x, mean(x, {.axes = options.axes, .keepdim = true}));  // composed of ops, for autograd
  return mul(sum(mul(centred, centred), options), 1.0 / static_cast<double>(degrees));
}

}  // namespace

Tensor sum(const Tensor& x, const ReduceOptions& options) {
  if (is_whole(x)) {
    return as_integers("sum", sum(convert(x, DType::float64), options));
  }
  return scaled_sum("sum", x, options, false);
}

Tensor mean(const Tensor& x, const ReduceOptions& options) {
  const Reduction axes = plan(x, options, "mean");
  require(axes.group_size() > 0 || numel(axes.kept) == 0, "[mean] nothing to average: shape ",
          x.shape());
  if (is_whole(x)) {
    return convert(mean(convert(x, DType::float64), options), DType::float32);
  }
  return scaled_sum("mean", x, options, true);
}

Tensor var(const Tensor& x, const ReduceOptions& options, Index correction) {
  return variance("var", x, options, correction);
}

Tensor stddev(const Tensor& x, const ReduceOptions& options, Index correction) {
  const Tensor squared = variance("stddev", x, options, correction);
  return record_with_output(
      "std", sqrt(squared.detach()), squared, [](const Tensor& y, const Tensor& grad) {
        return dispatch_floating(y.dtype(), "stddev", [&](auto zero) {
          using T = decltype(zero);
          return map_pairs<T, T>(grad, y,
                                 [](T g, T root) { return root == 0 ? T{0} : g / (2 * root); });
        });
      });
}

Tensor max(const Tensor& x, const ReduceOptions& options) {
  const Reduction axes = plan(x, options, "max");
  require(axes.group_size() > 0 || numel(axes.kept) == 0, "[max] nothing to choose from: shape ",
          x.shape());
  const Tensor value = dispatch_floating(x.dtype(), "max", [&](auto zero) {
    using T = decltype(zero);
    // NaN wins, as in PyTorch.
    return reduce<T>(
        x, axes, -std::numeric_limits<T>::infinity(),
        [](T state, T v) { return v > state || v != v ? v : state; },
        [](T state) { return state; });
  });
  return record("max", drop_reduced(value, axes, options.keepdim), {x},
                [value = SavedTensor("max", "output", value), reduced = options.axes](
                    auto inputs, const Tensor& grad) {
                  const Tensor& input = inputs[0];
                  const Tensor best = broadcast_view(value, input.shape());
                  const Tensor hits = dispatch_floating(input.dtype(), "max", [&](auto zero) {
                    using T = decltype(zero);
                    return map_pairs<T, T>(input, best, [](T a, T b) { return T(a == b ? 1 : 0); });
                  });
                  const Tensor ties = sum(hits, {.axes = reduced, .keepdim = true});
                  const Tensor spread_grad = spread(grad, value.shape(), input.shape());
                  return std::vector<Tensor>{div(mul(hits, spread_grad), ties)};
                });
}

Tensor sum_to_shape(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) {
    return x;
  }
  ReduceOptions options{.axes = {}, .keepdim = true};
  const Index extra = x.rank() - shape.rank();
  for (Index axis = 0; axis < x.rank(); ++axis) {
    if (axis < extra || shape[axis - extra] != x.shape()[axis]) {
      options.axes.push_back(axis);
    }
  }
  return reshape(sum(x, options), shape);
}

}  // namespace headlight
