#include "cli/ablate/parts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/transformed.h"
#include "cli/option_groups/interventions.h"
#include "cli/terminal/progress.h"
#include "headlight/interpret/interventions/interventions.h"
#include "headlight/show/plot/line_plot.h"
#include "show/report/parts/interval_text.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"

namespace headlight::cli {
namespace {

std::vector<PartSet> parts_of(const Options& options, const LoadedModel& loaded) {
  if (options.given("each")) {
    return each_part(*loaded.model, options.text("each"));
  }
  const std::map<HeadId, HeadScore> scores = scores_option(options, *loaded.model);
  std::vector<PartSet> parts;
  for (const std::string& text : options.texts("off")) {
    Change change = with_heads_of_classes(parse_targets("off", text), scores, "off");
    parts.push_back({text, std::move(change.targets), change.positions});
  }
  return parts;
}

// Text of a target in the form that parse_point() reads, as "z.5.1".
std::string target_text(const PointRange& target) {
  std::string text(name_of(target.point));
  if (is_in_layer(target.point) || target.items) {
    text += "." + range_text(target.layers);
  }
  return target.items ? text + "." + range_text(*target.items) : text;
}

bool is_of_neurons(const Options& options) {
  return options.given("each") && options.text("each").starts_with("neuron");
}

// Curve of the mean rises, with curves for the ends of their intervals.
LinePlot curve_of(std::vector<Interval> rises, bool is_sorted, Index sequences, MetricKind metric) {
  if (is_sorted) {
    std::ranges::stable_sort(rises, std::ranges::greater(), &Interval::mean);
  }
  std::vector<double> ranks(rises.size());
  std::iota(ranks.begin(), ranks.end(), 0.0);
  LinePlot plot{.y_label = concat_text("rise of the ", metric_noun(metric), ",",
                                       metric_unit(metric), " a token"),
                .series = interval_curves(ranks, rises, "rise", !is_sorted)};
  if (sequences <= 1) {  // a single sequence has no interval
    plot.series = {plot.series.back()};
  }
  return plot;
}

}  // namespace

std::string rise_column(MetricKind metric) {
  return concat_text("rise of the ", metric_noun(metric), " (95 %)");
}

void add_part_options(Options& options) {
  options
      .values("off",
              "Ablate these parts together, e.g. \"5.1, mlp.3\"; each further value is a separate "
              "experiment")
      .value("each", "Ablate each mlp, attn or layer, or each neuron of a layer (neuron.3)")
      .value("scores",
             "File heads.json from headlight heads, for classes of heads in --off, and --scatter")
      .value("limit", "--each neuron.L: show the N largest changes; 0: all", "20");
  options.paths({"scores"}).basic({"off", "each"});
}

bool asks_for_parts(const Options& options) {
  const bool is_off = options.given("off");
  const bool is_each = options.given("each");
  require(!is_off || !is_each, "expected either --off or --each");
  if (is_off || is_each) {
    refuse_options(options, {"heads", "all", "pairs", "scatter"},
                   "cannot be combined with --off and --each");
  }
  require(is_off || options.given("scatter") || !options.given("scores"),
          "--scores: needs --off or --scatter");
  require(options.given("scores") || !options.given("scatter"), "--scatter: needs --scores");
  require(options.given("scatter") || !options.given("score"), "--score: needs --scatter");
  if (options.json()) {
    refuse_options(options, {"limit"}, "cannot be combined with --json, which has all rows");
  }
  require(is_of_neurons(options) || !options.given("limit"), "--limit: needs --each neuron.L");
  return is_off || is_each;
}

PartsReport ablate_parts_of(const Options& options, const LoadedModel& loaded,
                            const TokenDataset& data, const AblationOptions& ablation) {
  PartsReport report{.parts = parts_of(options, loaded), .result = {}, .metric = ablation.metric};
  report.result = ablate_parts(*loaded.model, data, report.parts,
                               {.mode = ablation.mode,
                                .metric = ablation.metric,
                                .batch_size = ablation.batch_size,
                                .bootstrap = ablation.bootstrap,
                                .masking = ablation.masking,
                                .processes = ablation.processes,
                                .progress = progress_bar("ablating")});
  return report;
}

Json parts_json(const PartsReport& report) {
  Json json = Json::array();
  for (std::size_t i = 0; i < report.parts.size(); ++i) {
    json.push_back({{"name", report.parts[i].name},
                    {"targets", transformed(report.parts[i].targets, target_text)},
                    {"rise", interval_json(report.result.parts[i].rise)}});
  }
  return json;
}

std::string parts_table(const PartsReport& report, const Options& options) {
  std::vector<PartEffect> parts = report.result.parts;
  std::ranges::stable_sort(parts, std::ranges::greater(),
                           [](const PartEffect& effect) { return std::abs(effect.rise.mean); });
  const auto limit = static_cast<std::size_t>(count_option(options, "limit", 0));
  if (is_of_neurons(options) && limit > 0) {
    parts.resize(std::min(limit, parts.size()));
  }
  Table table({{"without", true}, {rise_column(report.metric), true}});
  for (const PartEffect& effect : parts) {
    table.add({effect.name, change_text(effect.rise, report.result.sequences)});
  }
  const std::size_t all = report.parts.size();
  return table.text() + (parts.size() == all
                             ? ""
                             : concat_text("(the largest ", parts.size(), " of ", all,
                                           " changes; --limit 0 shows all)\n"));
}

std::string parts_svg(const PartsReport& report, const Options& options) {
  const PartAblationResult& result = report.result;
  if (options.given("each")) {
    const bool of_neurons = is_of_neurons(options);
    LinePlot plot = curve_of(transformed(result.parts, &PartEffect::rise), of_neurons,
                             result.sequences, report.metric);
    plot.title = "Without each " + options.text("each");
    plot.x_label = of_neurons ? "neurons, the largest rise first" : "layer";
    if (result.sequences < kEnoughDocuments) {
      plot.x_label +=
          concat_text(" (caution: over ", counted(result.sequences, "sequence"), " only)");
    }
    return line_plot_svg(plot);
  }
  return matrix_plot_svg(parts_grid(report).plot);
}

ResultGrid parts_grid(const PartsReport& report) {
  const PartAblationResult& result = report.result;
  MatrixPlot plot{
      .title = concat_text("Rise of the ", metric_noun(report.metric), " without each part,",
                           metric_unit(report.metric), " a token"),
      .row_title = "part",
      .columns = {""}};
  for (const PartEffect& effect : result.parts) {
    plot.rows.push_back(effect.name);
    plot.values.push_back(effect.rise.mean);
    plot.lows.push_back(effect.rise.low);
    plot.highs.push_back(effect.rise.high);
  }
  plot.note = few_documents_caution(result.sequences);
  plot.doubtful = !plot.note.empty();
  return {"rise", std::move(plot)};
}

}  // namespace headlight::cli
