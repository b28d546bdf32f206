#pragma once

#include <string>

#include "headlight/interpret/effects/logit_metric.h"
#include "headlight/show/plot/scatter_plot.h"

namespace headlight {

// Returns a plot without points, for a score of the heads against the rise of a metric without
// them.
ScatterPlot score_scatter(const std::string& score, MetricKind metric);

}  // namespace headlight
