#include "show/report/attribution_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "base/transformed.h"
#include "headlight/show/plot/line_plot.h"
#include "headlight/show/plot/matrix_plot.h"
#include "show/report/parts/interval_text.h"
#include "show/report/parts/json_output.h"

namespace headlight {
namespace {

constexpr double kNoShare = std::numeric_limits<double>::quiet_NaN();
constexpr Index kNeuronColumns = 16;  // default; as in heat maps that show values

// Returns the numbers from 0 to count - 1, that of the largest size first.
template <class Size>
std::vector<std::size_t> largest_first(std::size_t count, const Size& size) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), size);
  return order;
}

std::size_t shown_of(std::size_t all, Index limit) {
  return limit == 0 ? all : std::min(all, static_cast<std::size_t>(limit));
}

const char* source_noun(const AttributionReport& report) {
  return report.study.groups.empty() ? "token" : "group";
}

// Column of logits: of several prompts with intervals.
ResultColumn logit_column(std::vector<Interval> logits, std::string title,
                          const AttributionReport& report) {
  ResultColumn column{.name = "logit",
                      .title = std::move(title),
                      .use = ColumnUse::json,
                      .decimals = report.is_one() ? 3 : 4,
                      .is_doubtful = !report.caution().empty()};
  if (report.is_one()) {
    column.values = transformed(logits, &Interval::mean);
  } else {
    column.values = std::move(logits);
  }
  return column;
}

// Returns the sums over all heads of each source token or group.
ResultTable source_table(const AttributionReport& report) {
  std::vector<Index> sources(report.study.sources.size());
  std::iota(sources.begin(), sources.end(), Index{0});
  const ColumnsOf of_sources{sources};
  const auto label = [&](Index source) { return report.source_label(source); };
  ResultTable table{.key = "sources",
                    .columns = {of_sources.hidden(
                        "label", label, std::string("all heads from ") + source_noun(report))},
                    .ranking = Ranking::size,
                    .ranked_by = "logit"};
  std::vector<ResultColumn>& columns = table.columns;
  const bool is_group = !report.study.groups.empty();
  columns.push_back(is_group ? of_sources("group", label)
                             : of_sources("position", std::identity()));
  if (!is_group && report.is_one()) {
    const ColumnsOf of_text{report.tasks.front().text};
    columns.push_back(of_text("id", std::identity()));
    columns.push_back(
        of_text("token", [&](std::int32_t id) { return label_of_id(id, report.tokenizer); }));
  }
  columns.push_back(logit_column(report.study.sources, "logit", report));
  return table;
}

// Returns the columns that only the text has.
std::vector<ResultColumn> text_columns(const AttributionReport& report,
                                       const std::vector<LogitPart>& parts) {
  const ColumnsOf of_parts{parts};
  if (report.by == AttributionBy::stream) {
    std::vector<double> changes = transformed(parts, &LogitPart::logit);
    std::adjacent_difference(changes.begin(), changes.end(), changes.begin());
    return {{"change", changes, "change", ColumnUse::none}};
  }
  const auto label = [](const LogitPart& part) {
    const bool is_head = part.head && part.kind == LogitPartKind::head;
    return is_head ? "head " + head_name(*part.head) : part.name;
  };
  std::vector<ResultColumn> columns{of_parts.hidden("label", label, "part")};
  if (report.by == AttributionBy::source) {
    const auto source = [&](const LogitPart& part) {
      return part.source ? report.source_label(*part.source) : "";
    };
    columns.push_back(of_parts.hidden("from", source, std::string("from ") + source_noun(report)));
  }
  return columns;
}

// Mean logits of the parts as an array with two or three axes.
struct Grid {
  std::string name;
  Shape shape;
  std::vector<double> values;  // NaN where there is no such part
};

// Returns true if the part belongs to the grid of `by`.
bool is_cell(const LogitPart& part, AttributionBy by) {
  switch (by) {
    case AttributionBy::layer:
      return part.kind == LogitPartKind::attention || part.kind == LogitPartKind::mlp;
    case AttributionBy::head:
      return part.kind == LogitPartKind::head;
    case AttributionBy::source:
      return part.source.has_value();
    case AttributionBy::neuron:
      return part.neuron.has_value();
    case AttributionBy::stream:
      break;
  }
  return false;
}

// Returns the number of a part in its layer: of its neuron or head; attention is 0, the MLP 1.
Index number_in_layer(const LogitPart& part) {
  if (part.neuron) {
    return *part.neuron;
  }
  if (part.head) {
    return part.head->head;
  }
  return part.kind == LogitPartKind::mlp ? 1 : 0;
}

Grid grid_of(const AttributionReport& report) {
  const AttributionBy by = report.by;
  Index layers = 0;
  Index items = by == AttributionBy::layer ? 2 : 0;
  for (const MeanLogitPart& mean : report.study.parts) {
    if (is_cell(mean.part, by)) {
      layers = std::max(layers, mean.part.layer + 1);
      items = std::max(items, 1 + number_in_layer(mean.part));
    }
  }
  Grid grid{.name = std::string(name_of(by)) + "s", .shape = {layers, items}, .values = {}};
  if (by == AttributionBy::source) {
    grid.shape.push_back(std::ssize(report.study.sources));
  }
  grid.values.assign(static_cast<std::size_t>(numel(grid.shape)), kNoShare);
  for (const auto& [part, logit] : report.study.parts) {
    if (is_cell(part, by)) {
      const Index cell = part.layer * items + number_in_layer(part);
      const Index index = part.source ? cell * grid.shape[2] + *part.source : cell;
      grid.values[static_cast<std::size_t>(index)] = logit.mean;
    }
  }
  return grid;
}

std::string title_of(const AttributionReport& report) {
  const AttributionTask& first = report.tasks.front();
  if (!report.is_one()) {
    return concat_text("Logit of the answer minus that of the wrong one, mean of ",
                       report.tasks.size(), " prompts");
  }
  return "Logit of " + quoted_label(*first.target, report.tokenizer) +
         (first.against ? " minus " + quoted_label(*first.against, report.tokenizer) : "");
}

std::string plot_title(const AttributionReport& report) {
  return title_of(report) + ", by " + std::string(name_of(report.by));
}

// Returns the stream as a list, layers by attention and MLP, or layers by heads and the MLP, with
// the column of its labels.
void add_view(const AttributionReport& report, ResultTable& table) {
  ResultView view{.name = std::string(name_of(report.by)),
                  .column = "logit",
                  .title = plot_title(report),
                  .has_ends = !report.is_one()};
  if (report.by == AttributionBy::stream) {
    view.rows = {.title = "behind", .column = "part"};
    table.views.push_back(view);
    return;
  }
  const bool by_head = report.by == AttributionBy::head;
  const auto place = [&](const LogitPart& part) -> std::string {
    return part.kind == LogitPartKind::mlp         ? "MLP"
           : part.kind == LogitPartKind::head      ? std::to_string(part.head->head)
           : part.kind == LogitPartKind::attention ? "attention"
                                                   : "";
  };
  view.rows = kLayerAxis;
  view.columns = {.title = by_head ? "head, and the MLP" : "",
                  .column = "place",
                  .labels = by_head ? numbers_to(grid_of(report).shape[1])
                                    : std::vector<std::string>{"attention"}};
  view.columns.labels.emplace_back("MLP");
  const std::vector<LogitPart> parts = transformed(report.study.parts, &MeanLogitPart::part);
  table.columns.push_back(ColumnsOf{parts}.hidden("place", place));
  table.views.push_back(view);
}

// Returns the logits of the `limit` strongest heads by source token or group, below a row with the
// sums over all heads.
MatrixPlot source_plot(const AttributionReport& report, Index limit) {
  const Grid grid = grid_of(report);
  const auto sources = static_cast<std::size_t>(grid.shape[2]);
  MatrixPlot plot{.row_title = "head",
                  .column_title = source_noun(report),
                  .rows = {"all heads"},
                  .values = transformed(report.study.sources, &Interval::mean)};
  for (Index s = 0; s < grid.shape[2]; ++s) {
    plot.columns.push_back(report.source_label(s));
  }
  std::vector<std::pair<double, HeadId>> heads;  // (-sum of absolute logits, head)
  for (std::size_t i = 0; i < grid.values.size() / sources; ++i) {
    double size = 0;
    for (std::size_t s = 0; s < sources; ++s) {
      size += std::abs(grid.values[i * sources + s]);
    }
    if (!std::isnan(size)) {  // NaN: the head was pruned
      heads.push_back(
          {-size, {static_cast<Index>(i) / grid.shape[1], static_cast<Index>(i) % grid.shape[1]}});
    }
  }
  std::sort(heads.begin(), heads.end());
  heads.resize(shown_of(heads.size(), limit));
  for (const auto& [size, head] : heads) {
    plot.rows.push_back(head_name(head));
    const auto begin = grid.values.begin() +
                       (head.layer * grid.shape[1] + head.head) * static_cast<Index>(sources);
    plot.values.insert(plot.values.end(), begin, begin + static_cast<Index>(sources));
  }
  return plot;
}

// Returns the `limit` strongest neurons of each layer by rank; 0: kNeuronColumns.
MatrixPlot neuron_plot(const AttributionReport& report, Index limit) {
  const Grid grid = grid_of(report);
  const auto neurons = static_cast<std::size_t>(grid.shape[1]);
  const std::size_t shown = shown_of(neurons, limit == 0 ? kNeuronColumns : limit);
  MatrixPlot plot{.row_title = "layer",
                  .column_title = "neurons, the strongest of each layer first",
                  .rows = numbers_to(grid.shape[0])};
  for (std::size_t i = 0; i < shown; ++i) {
    plot.columns.push_back(std::to_string(i + 1));
  }
  for (std::size_t row = 0; row < plot.rows.size(); ++row) {
    const double* values = grid.values.data() + row * neurons;
    const std::vector<std::size_t> order = largest_first(
        neurons, [&](std::size_t n) { return std::isnan(values[n]) ? -1 : std::abs(values[n]); });
    for (std::size_t i = 0; i < shown; ++i) {
      plot.values.push_back(values[order[i]]);
      plot.texts.push_back(std::to_string(order[i]));
    }
  }
  return plot;
}

ResultTable part_table(const AttributionReport& report) {
  const std::vector<MeanLogitPart>& means = report.study.parts;
  const std::vector<LogitPart> parts = transformed(means, &MeanLogitPart::part);
  const ColumnsOf of_parts{parts};
  const bool is_stream = report.by == AttributionBy::stream;
  const auto kind = [](const LogitPart& part) { return name_of(part.kind); };
  const auto number = [](const LogitPart& part) { return static_cast<Index>(part.kind); };
  const auto layer = [](const LogitPart& part) {
    return part.layer == kNoLayer ? std::nullopt : std::optional(part.layer);
  };
  const auto is_reliable = [is = report.caution().empty()](const LogitPart&) -> Json { return is; };
  const auto end = [&](const char* name, double Interval::*of) {
    return ColumnsOf{means}(
        name, [=](const MeanLogitPart& mean) { return mean.logit.*of; }, "", ColumnUse::arrays);
  };
  ResultTable table{.columns = {of_parts("part", &LogitPart::name, is_stream ? "behind" : ""),
                                of_parts("kind", kind, "", ColumnUse::json),
                                of_parts("layer", layer), of_parts("head", &LogitPart::head),
                                of_parts("source", &LogitPart::source),
                                of_parts("neuron", &LogitPart::neuron)}};
  std::vector<ResultColumn>& columns = table.columns;
  const std::vector<ResultColumn> shown = text_columns(report, parts);
  columns.insert(columns.end(), shown.begin(), shown.end());
  columns.push_back(logit_column(transformed(means, &MeanLogitPart::logit),
                                 is_stream ? "logit so far" : "logit", report));
  if (is_stream) {
    std::swap(columns.back(), *(columns.end() - 2));  // the change is behind the logit
  }
  columns.insert(
      columns.end(),
      {of_parts("reliable", is_reliable), of_parts("kind", number, "", ColumnUse::arrays),
       end("logit", &Interval::mean), end("low", &Interval::low), end("high", &Interval::high)});
  return table;
}

// Returns the JSON object of prompt i.
Json prompt_json(const AttributionReport& report, std::size_t i) {
  const AttributionResult& result = report.study.prompts[i];
  const AttributionTask& task = report.tasks[i];
  return {{"answer", token_json(*task.target, report.tokenizer)},
          {"probability", result.probability},
          {"likeliest", token_json(result.likeliest, report.tokenizer)},
          {"wrong", task.against ? token_json(*task.against, report.tokenizer) : Json()},
          {"position", result.visible - 1},
          {"logit", result.logit}};
}

}  // namespace

std::string AttributionReport::caution() const {
  if (!is_one()) {
    return attribution_caution(study);
  }
  const AttributionTask& task = tasks.front();
  const AttributionResult& result = study.prompts.front();
  return attribution_caution(result, shown_token(*task.target, tokenizer),
                             shown_token(task.against.value_or(result.likeliest), tokenizer));
}

std::string AttributionReport::source_label(Index source) const {
  if (!study.groups.empty()) {
    return study.groups[static_cast<std::size_t>(source)];
  }
  const std::string number = std::to_string(source);
  return is_one()
             ? number + " " +
                   quoted_label(tasks.front().text[static_cast<std::size_t>(source)], tokenizer)
             : number;
}

std::string attribution_note(const AttributionReport& report) {
  return report.caution().empty() ? ""
         : report.is_one() ? "Caution: the model does not choose this clearly, or reads little"
                           : "Caution: few prompts, or few that the model does clearly";
}

std::string attribution_heading(const AttributionReport& report) {
  const AttributionStudy& study = report.study;
  const AttributionTask& first = report.tasks.front();
  if (!report.is_one()) {
    const auto number = [](double value) { return signed_number(value, 4); };
    return concat_text("logit of the answer minus that of the wrong token: ",
                       interval_text(study.logit, number), " (mean of ", study.prompts.size(),
                       " prompts; the model does ", study.clear, " clearly)\n");
  }
  return "logit of " + quoted_label(*first.target, report.tokenizer) +
         (first.against ? " minus that of " + quoted_label(*first.against, report.tokenizer) : "") +
         ": " + signed_number(study.logit.mean, 3) + "; its probability " +
         fixed_number(study.prompts.front().probability, 3) + "\n";
}

std::vector<ResultTable> attribution_tables(const AttributionReport& report) {
  ResultTable parts = part_table(report);
  if (report.by != AttributionBy::stream) {
    parts.ranking = Ranking::size;
    parts.ranked_by = "logit";
  }
  if (report.by != AttributionBy::source && report.by != AttributionBy::neuron) {
    add_view(report, parts);
  }
  return report.by == AttributionBy::source ? std::vector{source_table(report), std::move(parts)}
                                            : std::vector{std::move(parts)};
}

Json attribution_facts(const AttributionReport& report) {
  const AttributionStudy& study = report.study;
  Json json{{"by", name_of(report.by)}};
  if (report.is_one()) {
    json.update(prompt_json(report, 0));
  } else {
    json.update({{"pairs", study.prompts.size()},
                 {"pairs_done", study.clear},
                 {"logit", study.logit.mean}});
    add_ends("logit", study.logit, json);
    json["prompts"] = Json::array();
    for (std::size_t i = 0; i < report.tasks.size(); ++i) {
      json["prompts"].push_back(prompt_json(report, i));
    }
  }
  return json;
}

std::vector<ResultGrid> attribution_grids(const AttributionReport& report, Index limit) {
  if (report.by != AttributionBy::source && report.by != AttributionBy::neuron) {
    return {};
  }
  MatrixPlot plot =
      report.by == AttributionBy::source ? source_plot(report, limit) : neuron_plot(report, limit);
  plot.title = plot_title(report);
  plot.note = attribution_note(report);
  plot.doubtful = !plot.note.empty();
  return {{.name = std::string(name_of(report.by)), .plot = std::move(plot)}};
}

std::string attribution_curve(const AttributionReport& report) {
  const std::vector<double> layers = transformed(report.study.parts, [](const auto& mean) {
    const LogitPart& part = mean.part;
    const double layer = part.layer == kNoLayer ? 0 : static_cast<double>(part.layer);
    const double behind = part.kind == LogitPartKind::mlp ? 1.0 : 0.0;
    return layer + (part.kind == LogitPartKind::attention ? 0.5 : behind);
  });
  LinePlot plot{.title = title_of(report),
                .x_label = "layers so far; halves: attention without the MLP",
                .y_label = "logit in the residual stream",
                .series = interval_curves(
                    layers, transformed(report.study.parts, &MeanLogitPart::logit), "mean", true)};
  if (report.is_one()) {
    plot.series = {plot.series.back()};
  }
  if (!report.caution().empty()) {
    plot.x_label += report.is_one() ? " (caution: the model does not do this clearly)"
                                    : " (caution: too few prompts are done clearly)";
  }
  return line_plot_svg(plot);
}

ResultArrays attribution_arrays(const AttributionReport& report) {
  const AttributionStudy& study = report.study;
  const auto parts = std::ssize(study.parts);
  const auto list = [](const auto& values) { return Tensor::from(values, {std::ssize(values)}); };
  std::vector<double> prompts;
  for (const std::vector<double>& logits : study.logits) {
    prompts.insert(prompts.end(), logits.begin(), logits.end());
  }
  ResultArrays arrays;
  add_arrays(part_table(report), "", arrays);
  NamedTensors& tensors = arrays.tensors;
  tensors.emplace_back("prompts", Tensor::from(prompts, {std::ssize(study.logits), parts}));
  tensors.emplace_back("totals", list(transformed(study.prompts, &AttributionResult::logit)));
  if (report.by != AttributionBy::stream) {
    const Grid grid = grid_of(report);
    tensors.emplace_back(grid.name, Tensor::from(grid.values, grid.shape));
  }
  if (report.by == AttributionBy::source) {
    tensors.emplace_back("source_sums", list(transformed(study.sources, &Interval::mean)));
  }
  if (report.is_one()) {
    tensors.emplace_back("tokens", list(report.tasks.front().text));
  }
  if (!study.groups.empty()) {
    arrays.texts.emplace_back("group", study.groups);
  }
  return arrays;
}

}  // namespace headlight
