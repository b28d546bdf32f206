#include "headlight/interpret/effects/metric_gradients.h"

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "interpret/values_by_point.h"

namespace headlight {
namespace {

bool is_requested(const PointRange& range, Point point, Index layer) {
  return range.point == point && (!is_in_layer(point) || range.layers.contains(layer));
}

// Returns values and gradients in the order of the hook's map; checks that no point is missing.
std::vector<PointGradient> gradients_of(const KeepPoints& hook,
                                        const std::vector<PointRange>& points) {
  for (const PointRange& range : points) {
    require_value(std::ranges::any_of(hook.values,
                                      [&](const auto& entry) {
                                        return is_requested(range, entry.first.first,
                                                            entry.first.second);
                                      }),
                  "names", "this model does not compute ", name_of(range.point), " in layers ",
                  range_text(range.layers));
  }
  std::vector<PointGradient> result;
  for (const auto& [spot, values] : hook.values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Tensor gradient = hook.leaves.at(spot)[i].grad();
      result.push_back(
          {{spot.first, spot.second, static_cast<Index>(i)},
           values[i],
           gradient.defined() ? gradient : Tensor::zeros(values[i].shape(), values[i].dtype())});
    }
  }
  return result;
}

}  // namespace

MetricGradients metric_gradients(const Gpt& model, const Batch& batch, const LogitMetric& metric,
                                 const std::vector<PointRange>& points) {
  require_value(!points.empty(), "names", "expected at least one point");
  for (const PointRange& range : points) {
    require_value(!range.items, "names", "expected whole points, such as z.3, got ",
                  name_of(range.point), " with parts");
  }
  KeepPoints hook(
      [&](Point point, Index layer) {
        return std::ranges::any_of(
            points, [&](const PointRange& range) { return is_requested(range, point, layer); });
      },
      true, true);
  const FrozenWeights frozen(model);
  const Tensor value = metric(model.logits(batch, {.hook = &hook}));
  require_value(value.defined() && value.numel() == 1, "metric", "expected one number");
  require_value(hook.leaves.empty() || value.requires_grad(), "metric",
                "expected a value with a gradient with respect to the logits");
  if (value.requires_grad()) {
    backward(value);
  }
  return {value.item(), gradients_of(hook, points)};
}

}  // namespace headlight
