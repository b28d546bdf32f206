#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "headlight/interpret/bootstrap.h"
#include "headlight/interpret/effects/logit_metric.h"
#include "headlight/show/plot/line_plot.h"

namespace headlight {

// Returns "+0.0123 (+0.0101 to +0.0145)" with numbers in this form; the mean alone if both ends are
// equal, as for a single document.
std::string interval_text(const Interval& interval,
                          const std::function<std::string(double)>& number_text);
// Returns the heading of a table of changes: the loss or another metric, its tokens and sequences.
std::string loss_heading(double loss, Index tokens, Index documents,
                         MetricKind metric = MetricKind::loss);
// Returns {"mean": ..., "low": ..., "high": ...}.
Json interval_json(const Interval& interval);
// Adds the members NAME_low and NAME_high.
void add_ends(const std::string& name, const Interval& interval, Json& json);
// Returns the curve of the means at the positions `x`, below it the curves of both ends.
std::vector<PlotSeries> interval_curves(const std::vector<double>& x,
                                        const std::vector<Interval>& values,
                                        const std::string& name, bool points);

}  // namespace headlight
