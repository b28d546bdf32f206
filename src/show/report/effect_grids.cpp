#include "show/report/effect_grids.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/transformed.h"
#include "show/report/parts/interval_text.h"

namespace headlight {
namespace {

ResultGrid head_grid(const AblationResult& result, MetricKind metric) {
  MatrixPlot plot = head_plot(transformed(result.heads, [](const HeadEffect& effect) {
    return HeadValue{effect.head, effect.rise};
  }));
  plot.title = concat_text("Rise of the ", metric_noun(metric), " without each head");
  plot.note = few_documents_caution(result.sequences);
  plot.doubtful = !plot.note.empty();
  return {"rise", std::move(plot)};
}

// Grid of one measure of head pairs, filled above the diagonal only.
ResultGrid pair_grid(const AblationResult& result, const std::string& name,
                     const std::string& title, Interval PairEffect::*measure) {
  std::vector<HeadId> heads;
  for (const PairEffect& pair : result.pairs) {
    heads.push_back(pair.first);
    heads.push_back(pair.second);
  }
  std::ranges::sort(heads);
  heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
  const std::vector<std::string> labels = head_names(heads);
  MatrixPlot plot{.title = title,
                  .row_title = "first",
                  .column_title = "second",
                  .rows = labels,
                  .columns = labels,
                  .note = few_documents_caution(result.sequences)};
  plot.doubtful = !plot.note.empty();
  plot.values.assign(heads.size() * heads.size(), std::numeric_limits<double>::quiet_NaN());
  plot.lows = plot.highs = plot.values;
  const auto index_of = [&](const HeadId& head) {
    return static_cast<std::size_t>(std::ranges::lower_bound(heads, head) - heads.begin());
  };
  for (const PairEffect& pair : result.pairs) {
    const auto [low, high] = std::minmax({index_of(pair.first), index_of(pair.second)});
    const std::size_t cell = low * heads.size() + high;
    plot.values[cell] = (pair.*measure).mean;
    plot.lows[cell] = (pair.*measure).low;
    plot.highs[cell] = (pair.*measure).high;
  }
  return {name, std::move(plot)};
}

}  // namespace

std::vector<ResultGrid> ablation_grids(const AblationResult& result, MetricKind metric) {
  std::vector<ResultGrid> grids{head_grid(result, metric)};
  if (!result.pairs.empty()) {
    const std::string rise = concat_text("Rise of the ", metric_noun(metric), " without ");
    grids.push_back(pair_grid(result, "pair_rise", rise + "both heads", &PairEffect::rise));
    grids.push_back(pair_grid(result, "pair_beyond",
                              rise + "a pair beyond that of both heads alone",
                              &PairEffect::beyond));
  }
  return grids;
}

std::vector<ResultGrid> importance_grids(const ImportanceResult& importance,
                                         const std::vector<HeadEffect>& effects) {
  std::vector<ResultGrid> grids;
  const auto add = [&]<class Head>(const char* name, const char* title,
                                   const std::vector<Head>& heads, Interval Head::*measure) {
    MatrixPlot plot = head_plot(transformed(heads, [=](const Head& head) {
      return HeadValue{head.head, head.*measure};
    }));
    plot.title = title;
    plot.note = few_documents_caution(importance.sequences);
    plot.doubtful = !plot.note.empty();
    grids.push_back({name, std::move(plot)});
  };
  const std::vector<HeadImportance>& gates = importance.heads;
  add("sensitivity", "Sensitivity of the loss to each head", gates, &HeadImportance::sensitivity);
  add("taylor", "Rise of the loss without each head, by its gradient", gates,
      &HeadImportance::taylor);
  if (!effects.empty()) {
    add("ablation", "Rise of the loss without each head", effects, &HeadEffect::rise);
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
                          const std::vector<HeadEffect>& effects, MetricKind metric) {
  ScatterPlot plot = score_scatter(score, metric);
  for (const HeadEffect& effect : effects) {
    if (const auto found = scores.find(effect.head); found != scores.end()) {
      plot.points.push_back({head_name(effect.head), found->second, effect.rise.mean});
    }
  }
  return plot;
}

}  // namespace headlight
