#include "headlight/ops/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headlight/ops/elementwise.h"
#include "ops/common.h"
#include "ops/matrix.h"

namespace headlight {
namespace {

// Logits per chunk of linear_cross_entropy: enough for large products, but less than the model.
constexpr Index kChunkElements = Index{1} << 24;

Index count_targets(const Tensor& targets, Index rows, Index vocabulary,
                    const CrossEntropyOptions& options) {
  const Index ignore_index = options.ignore_index;
  require_cap(options.cap, "cross_entropy");
  require(options.label_smoothing >= 0 && options.label_smoothing <= 1,
          "[cross_entropy] expected a label_smoothing from 0 to 1, got ", options.label_smoothing);
  require(options.z_loss >= 0 && std::isfinite(options.z_loss),
          "[cross_entropy] expected a finite z_loss of at least 0, got ", options.z_loss);
  require_type(targets, DType::int32, "cross_entropy", "targets");
  require_shape(targets, {rows}, "cross_entropy", "targets");
  require(targets.is_contiguous(), "[cross_entropy] targets: expected contiguous elements");
  const std::int32_t* values = targets.data<std::int32_t>();
  Index count = 0;
  for (Index i = 0; i < rows; ++i) {
    if (values[i] != ignore_index) {
      require(values[i] >= 0 && values[i] < vocabulary,
              "[cross_entropy] expected targets from 0 to ", vocabulary - 1, " or ", ignore_index,
              ", got ", values[i], " at position ", i);
      ++count;
    }
  }
  return count;
}

// Returns the mean of a row of logits.
template <class T>
double mean_of(const T* logits, Index vocabulary) {
  return std::accumulate(logits, logits + vocabulary, 0.0) / static_cast<double>(vocabulary);
}

// Replaces one row of logits by the gradient of its loss, times `scale`; returns the loss. With a
// cap, `slopes` [V] is scratch memory.
//
// With p = softmax(x) and smoothing e, the loss is log Z - (1 - e) x[target] - e mean(x) +
// z_loss (log Z)^2. Its gradient is (1 + 2 z_loss log Z) p, minus 1 - e at the target and e / V
// everywhere.
template <class T>
double differentiate_row(T* logits, Index vocabulary, std::int32_t target, T scale,
                         const CrossEntropyOptions& options, T* slopes) {
  const bool has_cap = options.cap > 0;
  const double smoothing = options.label_smoothing;
  if (has_cap) {
    kernels::loops<T>().soft_cap(static_cast<T>(options.cap), logits, slopes, vocabulary);
  }
  const T highest = kernels::loops<T>().maximum(logits, vocabulary);
  const T target_logit = logits[target];
  const double mean = smoothing > 0 ? mean_of(logits, vocabulary) : 0;
  const T total = kernels::loops<T>().exp_shifted(logits, highest, vocabulary);
  const double log_total = std::log(static_cast<double>(total));
  double loss = log_total + static_cast<double>(highest - target_logit);
  T p_scale = scale;
  if (options.z_loss > 0) {
    const double log_z = log_total + static_cast<double>(highest);
    loss += options.z_loss * log_z * log_z;
    p_scale *= static_cast<T>(1 + 2 * options.z_loss * log_z);
  }
  kernels::loops<T>().scale(p_scale / total, logits, vocabulary);
  logits[target] -= scale * static_cast<T>(1 - smoothing);
  if (smoothing > 0) {
    loss += smoothing * (static_cast<double>(target_logit) - mean);
    const T even = scale * static_cast<T>(smoothing / static_cast<double>(vocabulary));
    std::transform(logits, logits + vocabulary, logits, [&](T value) { return value - even; });
  }
  if (has_cap) {
    kernels::loops<T>().multiply(slopes, logits, vocabulary);
  }
  return loss;
}

// Targets and losses of rows of logits.
struct Rows {
  const std::int32_t* targets;  // [N]
  double* losses;               // [N]
  const CrossEntropyOptions& options;
  double scale;                    // of the gradient of every row
  const double* scales = nullptr;  // [N], of the gradient of each row, instead of `scale`

  double scale_of(Index row) const { return scales != nullptr ? scales[row] : scale; }
  Rows from(Index row) const {
    return {targets + row, losses + row, options, scale,
            scales != nullptr ? scales + row : nullptr};
  }
};

// Overwrites logits [rows, V] with their gradient.
template <class T>
void differentiate_rows(Tensor& logits, const Rows& rows) {
  const Index vocabulary = logits.size(1);
  T* values = logits.data<T>();
  kernels::parallel_for(
      logits.size(0), kernels::row_grain(vocabulary), [&](Index begin, Index end) {
        std::vector<T> slopes(static_cast<std::size_t>(rows.options.cap > 0 ? vocabulary : 0));
        for (Index row = begin; row < end; ++row) {
          T* row_logits = values + row * vocabulary;
          if (rows.targets[row] == rows.options.ignore_index) {
            std::fill_n(row_logits, vocabulary, T{0});
            rows.losses[row] = 0;
          } else {
            rows.losses[row] =
                differentiate_row(row_logits, vocabulary, rows.targets[row],
                                  static_cast<T>(rows.scale_of(row)), rows.options, slopes.data());
          }
        }
      });
}

// Sums in order, so that the result is reproducible.
double sum_of(const std::vector<double>& losses) {
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

double loss_scale(Index count, Index normalizer) {
  const Index divisor = normalizer > 0 ? normalizer : count;
  return divisor == 0 ? 0.0 : 1.0 / static_cast<double>(divisor);
}

// Multiplies a gradient, if defined, by that of the loss, which is 1 unless the loss was an input
// of another op.
Tensor chained(const Tensor& gradient, const Tensor& loss_grad) {
  return !gradient.defined() || loss_grad.item() == 1.0 ? gradient : mul(gradient, loss_grad);
}

// Gradients to compute with the losses of rows.
struct HeadGradients {
  bool of_x = false;
  bool of_weight = false;
  double scale = 1;                 // of every row
  std::vector<double> scales = {};  // [N], of each row, instead of `scale`; empty: none
};

struct LossAndGradients {
  std::vector<double> losses;  // [N]
  Tensor x_grad;               // [N, C]; undefined unless asked for
  Tensor weight_grad;          // [V, C]; undefined unless asked for
};

// Computes the gradients together with the loss, while a chunk's logits exist.
template <class T>
LossAndGradients differentiate_chunks(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                      const CrossEntropyOptions& options,
                                      const HeadGradients& wanted) {
  const Index rows = x.size(0);
  const Index vocabulary = weight.size(0);
  LossAndGradients result;
  result.losses.resize(static_cast<std::size_t>(rows));
  const Rows compared{targets.data<std::int32_t>(), result.losses.data(), options, wanted.scale,
                      wanted.scales.empty() ? nullptr : wanted.scales.data()};
  if (wanted.of_x) {
    result.x_grad = Tensor::empty(x.shape(), x.dtype());
  }
  if (wanted.of_weight) {
    result.weight_grad = rows > 0 ? Tensor::empty(weight.shape(), weight.dtype())
                                  : Tensor::zeros(weight.shape(), weight.dtype());
  }
  const Index size = std::max<Index>(1, kChunkElements / std::max<Index>(1, vocabulary));
  const Tensor contiguous_x = to_contiguous(x.detach());
  const Tensor contiguous_weight = to_contiguous(weight.detach());
  const Matrix<const T> from = matrix_of<T>(contiguous_x);
  const Matrix<const T> table = matrix_of<T>(contiguous_weight);
  for (Index start = 0; start < rows; start += size) {
    const Index end = std::min(rows, start + size);
    const Matrix<const T> part = from.row_range(start, end);
    Tensor chunk = Tensor::empty({end - start, vocabulary}, x.dtype());
    const Matrix<T> logits = matrix_of<T>(chunk);
    kernels::gemm(product_of<T>(part, table, logits, {Transposed::second, options.precision}));
    differentiate_rows<T>(chunk, compared.from(start));
    if (result.x_grad.defined()) {
      kernels::gemm(product_of<T>(logits, table, matrix_of<T>(result.x_grad).row_range(start, end),
                                  {Transposed::none, options.precision}));
    }
    if (result.weight_grad.defined()) {
      auto weight_product = product_of<T>(logits, part, matrix_of<T>(result.weight_grad),
                                          {Transposed::first, options.precision});
      weight_product.beta = start == 0 ? T{0} : T{1};
      kernels::gemm(weight_product);
    }
  }
  return result;
}

// Numbers of the rows of x that have a target.
std::vector<Index> rows_with_target(const Tensor& targets, Index ignore_index) {
  const auto* values = targets.data<std::int32_t>();
  std::vector<Index> rows;
  for (Index row = 0; row < targets.numel(); ++row) {
    if (values[row] != ignore_index) {
      rows.push_back(row);
    }
  }
  return rows;
}

// As differentiate_chunks(), but computes only the rows with a target: in conversations, most have
// none.
template <class T>
LossAndGradients differentiate_rows_with_target(const Tensor& x, const Tensor& weight,
                                                const Tensor& targets,
                                                const CrossEntropyOptions& options,
                                                const HeadGradients& wanted) {
  const std::vector<Index> kept = rows_with_target(targets, options.ignore_index);
  const Index width = x.size(1);
  const Tensor all = to_contiguous(x.detach());
  Tensor kept_x = Tensor::empty({std::ssize(kept), width}, x.dtype());
  Tensor kept_targets = Tensor::empty({std::ssize(kept)}, DType::int32);
  HeadGradients kept_wanted{wanted.of_x, wanted.of_weight, wanted.scale};
  for (std::size_t i = 0; i < kept.size(); ++i) {
    std::copy_n(all.data<T>() + kept[i] * width, width,
                kept_x.data<T>() + static_cast<Index>(i) * width);
    kept_targets.data<std::int32_t>()[i] = targets.data<std::int32_t>()[kept[i]];
    if (!wanted.scales.empty()) {
      kept_wanted.scales.push_back(wanted.scales[static_cast<std::size_t>(kept[i])]);
    }
  }
  LossAndGradients part =
      differentiate_chunks<T>(kept_x, weight, kept_targets, options, kept_wanted);
  LossAndGradients result{.losses = std::vector<double>(static_cast<std::size_t>(x.size(0))),
                          .x_grad = {},
                          .weight_grad = part.weight_grad};
  if (part.x_grad.defined()) {
    result.x_grad = Tensor::zeros(x.shape(), x.dtype());
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    result.losses[static_cast<std::size_t>(kept[i])] = part.losses[i];
    if (part.x_grad.defined()) {
      std::copy_n(part.x_grad.data<T>() + static_cast<Index>(i) * width, width,
                  result.x_grad.data<T>() + kept[i] * width);
    }
  }
  return result;
}

// Checks the arguments; returns the number of targets.
Index count_linear_targets(const Tensor& x, const Tensor& weight, const Tensor& targets,
                           const CrossEntropyOptions& options) {
  require(x.defined() && x.rank() == 2 && weight.defined() && weight.rank() == 2,
          "[linear_cross_entropy] expected an input [N, C] and a weight [V, C]");
  const Index count = count_targets(targets, x.size(0), weight.size(0), options);
  require(x.size(1) == weight.size(1), "[linear_cross_entropy] input ", x.shape(),
          " does not match weight ", weight.shape());
  require_same_type(x, weight, "linear_cross_entropy");
  return count;
}

// `count`: from count_linear_targets().
LossAndGradients differentiate_linear(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                      const CrossEntropyOptions& options, Index count,
                                      const HeadGradients& wanted) {
  return dispatch_floating(x.dtype(), "linear_cross_entropy", [&](auto zero) {
    using T = decltype(zero);
    return count == x.size(0)
               ? differentiate_chunks<T>(x, weight, targets, options, wanted)
               : differentiate_rows_with_target<T>(x, weight, targets, options, wanted);
  });
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options) {
  require(logits.defined() && logits.rank() == 2, "[cross_entropy] expected logits [N, V]");
  const Index count = count_targets(targets, logits.size(0), logits.size(1), options);
  const double scale = loss_scale(count, options.normalizer);
  Tensor gradient = logits.clone();
  std::vector<double> losses(static_cast<std::size_t>(logits.size(0)));
  const Rows rows{targets.data<std::int32_t>(), losses.data(), options, scale};
  dispatch_floating(logits.dtype(), "cross_entropy",
                    [&](auto zero) { differentiate_rows<decltype(zero)>(gradient, rows); });
  return record_shapes("cross_entropy", Tensor::scalar(sum_of(losses) * scale, logits.dtype()),
                       {logits}, [gradient](auto, const Tensor& grad) {
                         return std::vector<Tensor>{chained(gradient, grad)};
                       });
}

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                            const CrossEntropyOptions& options) {
  const Index count = count_linear_targets(x, weight, targets, options);
  const double scale = loss_scale(count, options.normalizer);
  const LossAndGradients parts = differentiate_linear(
      x, weight, targets, options, count,
      {.of_x = wants_gradient({x}), .of_weight = wants_gradient({weight}), .scale = scale});
  const double loss = sum_of(parts.losses) * scale;
  return record_shapes(
      "linear_cross_entropy", Tensor::scalar(loss, x.dtype()), {x, weight},
      [x_grad = parts.x_grad, weight_grad = parts.weight_grad](auto, const Tensor& grad) {
        return std::vector<Tensor>{chained(x_grad, grad), chained(weight_grad, grad)};
      });
}

Tensor linear_cross_entropy_rows(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                 const CrossEntropyOptions& options) {
  const Index count = count_linear_targets(x, weight, targets, options);
  const std::vector<double> losses =
      differentiate_linear(x, weight, targets, options, count, {}).losses;
  // The gradient needs the logits of all rows again, because its scales come after the losses.
  return record(
      "linear_cross_entropy_rows", Tensor::from(losses, {static_cast<Index>(losses.size())}),
      {x, weight},
      [options, count, saved = SavedTensor("linear_cross_entropy_rows", "targets", targets),
       of_x = wants_gradient({x}), of_weight = wants_gradient({weight})](
          std::span<const SavedTensor> inputs, const Tensor& grad) {
        const LossAndGradients parts = differentiate_linear(
            inputs[0].get(), inputs[1].get(), saved.get(), options, count,
            {.of_x = of_x, .of_weight = of_weight, .scales = grad.to_vector()});
        return std::vector<Tensor>{parts.x_grad, parts.weight_grad};
      });
}

}  // namespace headlight
