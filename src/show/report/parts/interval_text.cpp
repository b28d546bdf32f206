#include "show/report/parts/interval_text.h"

#include "base/transformed.h"
#include "headlight/base/error.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"

namespace headlight {

std::string interval_text(const Interval& interval,
                          const std::function<std::string(double)>& number_text) {
  const std::string mean = number_text(interval.mean);
  return interval.low == interval.high
             ? mean
             : mean + " (" + number_text(interval.low) + " to " + number_text(interval.high) + ")";
}

std::string loss_heading(double loss, Index tokens, Index documents, MetricKind metric) {
  return concat_text(metric_noun(metric), " ", fixed_number(loss, 4), metric_unit(metric),
                     " a token over ", tokens, " tokens of ", counted(documents, "sequence"), "\n");
}

Json interval_json(const Interval& interval) {
  return {{"mean", interval.mean}, {"low", interval.low}, {"high", interval.high}};
}

void add_ends(const std::string& name, const Interval& interval, Json& json) {
  json[name + "_low"] = interval.low;
  json[name + "_high"] = interval.high;
}

std::vector<PlotSeries> interval_curves(const std::vector<double>& x,
                                        const std::vector<Interval>& values,
                                        const std::string& name, bool points) {
  PlotSeries low{.name = "95 % of the resampled means",
                 .x = x,
                 .y = transformed(values, &Interval::low),
                 .thin = true,
                 .colour = 5};
  PlotSeries high = low;
  high.name = "";
  high.y = transformed(values, &Interval::high);
  return {low,
          high,
          {.name = name,
           .x = x,
           .y = transformed(values, &Interval::mean),
           .points = points,
           .colour = 0}};
}

}  // namespace headlight
