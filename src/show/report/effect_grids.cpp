#include "show/report/effect_grids.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/transformed.h"
#include "show/report/parts/interval_text.h"

namespace headlight {
namespace {

// Grid of one measure of pairs, filled above the diagonal only.
ResultGrid pair_grid(const std::vector<std::string>& names, const AblationResult& result,
                     const std::string& name, const std::string& title,
                     Interval PairEffect::*measure) {
  std::vector<std::size_t> parts;  // of any pair
  for (const PairEffect& pair : result.pairs) {
    parts.push_back(pair.first);
    parts.push_back(pair.second);
  }
  std::ranges::sort(parts);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  const std::vector<std::string> labels =
      transformed(parts, [&](std::size_t part) { return names[part]; });
  MatrixPlot plot{.title = title,
                  .row_title = "first",
                  .column_title = "second",
                  .rows = labels,
                  .columns = labels,
                  .note = few_documents_caution(result.sequences)};
  plot.doubtful = !plot.note.empty();
  plot.values.assign(parts.size() * parts.size(), std::numeric_limits<double>::quiet_NaN());
  plot.lows = plot.highs = plot.values;
  const auto index_of = [&](std::size_t part) {
    return static_cast<std::size_t>(std::ranges::lower_bound(parts, part) - parts.begin());
  };
  for (const PairEffect& pair : result.pairs) {
    const std::size_t cell = index_of(pair.first) * parts.size() + index_of(pair.second);
    plot.values[cell] = (pair.*measure).mean;
    plot.lows[cell] = (pair.*measure).low;
    plot.highs[cell] = (pair.*measure).high;
  }
  return {name, std::move(plot)};
}

}  // namespace

ResultGrid head_rises(const std::vector<HeadId>& heads, const AblationResult& result,
                      MetricKind metric) {
  std::vector<HeadValue> values;
  for (const HeadId& head : heads) {
    values.push_back({head, result.rises[values.size()]});
  }
  MatrixPlot plot = head_plot(values);
  plot.title = concat_text("Rise of the ", metric_noun(metric), " without each head");
  plot.note = few_documents_caution(result.sequences);
  plot.doubtful = !plot.note.empty();
  return {"rise", std::move(plot)};
}

std::vector<ResultGrid> pair_grids(const std::vector<std::string>& names,
                                   const AblationResult& result, MetricKind metric) {
  if (result.pairs.empty()) {
    return {};
  }
  const std::string rise = concat_text("Rise of the ", metric_noun(metric), " without ");
  return {pair_grid(names, result, "pair_rise", rise + "both parts", &PairEffect::rise),
          pair_grid(names, result, "pair_beyond", rise + "a pair beyond that of both parts alone",
                    &PairEffect::beyond)};
}

std::vector<ResultGrid> importance_grids(const ImportanceResult& importance,
                                         const std::vector<Interval>& effects) {
  std::vector<ResultGrid> grids;
  const auto add = [&](const char* name, const char* title, const auto& interval_of) {
    std::vector<HeadValue> values;
    for (const HeadImportance& head : importance.heads) {
      values.push_back({head.head, interval_of(head, values.size())});
    }
    MatrixPlot plot = head_plot(values);
    plot.title = title;
    plot.note = few_documents_caution(importance.sequences);
    plot.doubtful = !plot.note.empty();
    grids.push_back({name, std::move(plot)});
  };
  add("sensitivity", "Sensitivity of the loss to each head",
      [](const HeadImportance& head, std::size_t) { return head.sensitivity; });
  add("taylor", "Rise of the loss without each head, by its gradient",
      [](const HeadImportance& head, std::size_t) { return head.taylor; });
  if (!effects.empty()) {
    add("ablation", "Rise of the loss without each head",
        [&](const HeadImportance&, std::size_t i) { return effects[i]; });
  }
  return grids;
}

ScatterPlot score_scatter(const std::string& score, MetricKind metric) {
  const std::string unit = metric_unit(metric);
  return {.title = "Score and ablation of each head",
          .x_label = score,
          .y_label = concat_text("rise of the ", metric_noun(metric), " without the head",
                                 unit.empty() ? "" : "," + unit + " a token")};
}

ScatterPlot score_scatter(const std::map<HeadId, double>& scores, const std::string& score,
                          const std::vector<HeadId>& heads, const std::vector<Interval>& rises,
                          MetricKind metric) {
  ScatterPlot plot = score_scatter(score, metric);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (const auto found = scores.find(heads[i]); found != scores.end()) {
      plot.points.push_back({head_name(heads[i]), found->second, rises[i].mean});
    }
  }
  return plot;
}

}  // namespace headlight
