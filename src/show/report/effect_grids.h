#pragma once

#include <map>
#include <string>
#include <vector>

#include "headlight/interpret/effects/ablation.h"
#include "headlight/interpret/effects/importance.h"
#include "headlight/interpret/effects/patching.h"
#include "headlight/show/plot/scatter_plot.h"
#include "show/result/result.h"

// Effects of heads as grids of layers by heads.
namespace headlight {

// Returns "rise" with intervals, of each head.
ResultGrid head_rises(const std::vector<HeadId>& heads, const AblationResult& result,
                      MetricKind metric = MetricKind::loss);

// Returns "pair_rise" and "pair_beyond" of first by second part, above the diagonal only; nothing
// if no pairs were ablated. `names` are those of all ablated parts.
std::vector<ResultGrid> pair_grids(const std::vector<std::string>& names,
                                   const AblationResult& result,
                                   MetricKind metric = MetricKind::loss);

// Returns "sensitivity", "taylor" and, if there are effects of ablation, "ablation".
std::vector<ResultGrid> importance_grids(const ImportanceResult& importance,
                                         const std::vector<Interval>& effects);

// Returns a plot without points, for a score of the heads against the rise of a metric without
// them.
ScatterPlot score_scatter(const std::string& score, MetricKind metric);

// Returns a score of the heads against the rise of the loss, or another metric, without them; heads
// that lack one of them are left out.
ScatterPlot score_scatter(const std::map<HeadId, double>& scores, const std::string& score,
                          const std::vector<HeadId>& heads, const std::vector<Interval>& rises,
                          MetricKind metric = MetricKind::loss);

}  // namespace headlight
