#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/normalization.h"
#include "headlight/ops/reduce.h"
#include "ops/common.h"

namespace headlight {
namespace {

// running = (1 - momentum) * running + momentum * batch
void update(Tensor& running, const Tensor& batch, double momentum) {
  running.copy_from(running.detach() * (1.0 - momentum) + batch * momentum);
}

// Reshapes [C] to [1, C] or [1, C, 1], so that it broadcasts to x.
Tensor per_channel(const Tensor& values, const Tensor& x) {
  return reshape(values, x.rank() == 2 ? Shape{1, x.size(1)} : Shape{1, x.size(1), 1});
}

}  // namespace

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
