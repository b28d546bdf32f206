#pragma once

#include <vector>

#include "headlight/interpret/effects/logit_metric.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// Value at a point, and the gradient of a metric with respect to it.
struct PointGradient {
  HookSite site;    // maps have one entry for each sequence
  Tensor value;     // in the shape of Point
  Tensor gradient;  // the same shape; zeros if the metric does not depend on the value
};

struct MetricGradients {
  double metric = 0;
  std::vector<PointGradient> points;  // by point, then layer and sequence
};

// Runs one pass and a backward pass to the values at `points`. Layers of a range that do not
// compute its point are left out. The gradient at a point includes all paths from there to the
// logits. Weights get no gradient. Throws Error about "names" for parts of points and for points
// that no layer computes, and about "metric" unless it returns one element that depends on the
// logits by tensor ops.
MetricGradients metric_gradients(const Gpt& model, const Batch& batch, const LogitMetric& metric,
                                 const std::vector<PointRange>& points);

}  // namespace headlight
