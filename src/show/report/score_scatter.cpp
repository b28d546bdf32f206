#include "show/report/score_scatter.h"

#include "headlight/base/error.h"

namespace headlight {

ScatterPlot score_scatter(const std::string& score, MetricKind metric) {
  const std::string unit = metric_unit(metric);
  return {.title = "Score and ablation of each head",
          .x_label = score,
          .y_label = concat_text("rise of the ", metric_noun(metric), " without the head",
                                 unit.empty() ? "" : "," + unit + " a token")};
}

}  // namespace headlight
