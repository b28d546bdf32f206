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

// Returns "+0.123", with an interval for several prompts, and " ?" if the report has a caution.
std::string logit_text(const Interval& logit, const AttributionReport& report) {
  const bool is_reliable = report.caution().empty();
  std::string text =
      report.is_one() ? signed_number(logit.mean, 3) : change_text(logit, kEnoughDocuments);
  return text + (is_reliable ? "" : " ?");
}

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

Table stream_table(const AttributionReport& report) {
  Table table({{"behind", true}, {"logit so far", !report.is_one()}, {"change"}});
  double before = 0;
  for (const MeanLogitPart& mean : report.study.parts) {
    table.add({mean.part.name, logit_text(mean.logit, report),
               signed_number(mean.part.logit - before, 3)});
    before = mean.part.logit;
  }
  return table;
}

const char* source_noun(const AttributionReport& report) {
  return report.study.groups.empty() ? "token" : "group";
}

// Returns a table of the sums over all heads for each source token or group.
Table source_table(const AttributionReport& report) {
  const std::vector<Interval>& sources = report.study.sources;
  Table table(
      {{std::string("all heads from ") + source_noun(report), true}, {"logit", !report.is_one()}},
      true);
  for (const std::size_t source :
       largest_first(sources.size(), [&](std::size_t s) { return std::abs(sources[s].mean); })) {
    table.add(
        {report.source_label(static_cast<Index>(source)), logit_text(sources[source], report)});
  }
  return table;
}

std::string part_label(const LogitPart& part) {
  const bool is_whole_head = part.head && part.kind == LogitPartKind::head && !part.source;
  return is_whole_head ? "head " + part.name : part.name;
}

Table part_table(const AttributionReport& report) {
  const std::vector<MeanLogitPart>& parts = report.study.parts;
  const bool by_source = report.by == AttributionBy::source;
  std::vector<Table::Column> columns{{"part", true}};
  if (by_source) {
    columns.push_back({std::string("from ") + source_noun(report), true});
  }
  columns.push_back({"logit", !report.is_one()});
  Table table(std::move(columns), true);
  for (const std::size_t i :
       largest_first(parts.size(), [&](std::size_t n) { return std::abs(parts[n].part.logit); })) {
    const auto& [part, logit] = parts[i];
    std::vector<std::string> row;
    if (part.source) {
      row = {"head " + head_name(*part.head), report.source_label(*part.source)};
    } else {
      row = {part_label(part)};
      row.resize(by_source ? 2 : 1);
    }
    row.push_back(logit_text(logit, report));
    table.add(std::move(row));
  }
  return table;
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
  return "Logit of " + quoted_label(first.target, report.tokenizer) +
         (first.against ? " minus " + quoted_label(*first.against, report.tokenizer) : "");
}

// Returns layers by attention and MLP, or layers by heads with an MLP column.
MatrixPlot layer_plot(const AttributionReport& report) {
  const Grid grid = grid_of(report);
  const bool by_head = report.by == AttributionBy::head;
  MatrixPlot plot{.row_title = "layer",
                  .column_title = by_head ? "head, and the MLP" : "",
                  .rows = numbers_to(grid.shape[0])};
  if (!by_head) {
    plot.columns = {"attention", "MLP"};
    plot.values = grid.values;
    return plot;
  }
  plot.columns = numbers_to(grid.shape[1]);
  plot.columns.push_back("MLP");
  const std::size_t columns = plot.columns.size();
  plot.values.assign(plot.rows.size() * columns, kNoShare);
  for (const MeanLogitPart& mean : report.study.parts) {
    const LogitPart& part = mean.part;
    if (part.kind == LogitPartKind::head || part.kind == LogitPartKind::mlp) {
      const std::size_t column =
          part.head ? static_cast<std::size_t>(part.head->head) : columns - 1;
      plot.values[static_cast<std::size_t>(part.layer) * columns + column] = part.logit;
    }
  }
  return plot;
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

MatrixPlot stream_plot(const AttributionReport& report) {
  MatrixPlot plot{.row_title = "behind"};
  for (const auto& [part, logit] : report.study.parts) {
    plot.rows.push_back(part.name);
    plot.values.push_back(logit.mean);
    if (!report.is_one()) {
      plot.lows.push_back(logit.low);
      plot.highs.push_back(logit.high);
    }
  }
  return plot;
}

// Returns the heat map for report.by.
MatrixPlot plot_of(const AttributionReport& report, Index limit) {
  MatrixPlot plot = report.by == AttributionBy::source   ? source_plot(report, limit)
                    : report.by == AttributionBy::neuron ? neuron_plot(report, limit)
                    : report.by == AttributionBy::stream ? stream_plot(report)
                                                         : layer_plot(report);
  plot.title = title_of(report) + ", by " + std::string(name_of(report.by));
  plot.doubtful = !report.caution().empty();
  plot.note = !plot.doubtful    ? ""
              : report.is_one() ? "Caution: the model does not choose this clearly, or reads little"
                                : "Caution: few prompts, or few that the model does clearly";
  return plot;
}

template <class T>
Json json_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json part_json(const MeanLogitPart& mean, bool is_one, bool is_reliable) {
  const LogitPart& part = mean.part;
  Json json{{"part", part.name},
            {"kind", name_of(part.kind)},
            {"layer", part.layer == kNoLayer ? Json() : Json(part.layer)},
            {"head", part.head ? Json(head_name(*part.head)) : Json()},
            {"source", json_or_null(part.source)},
            {"neuron", json_or_null(part.neuron)},
            {"logit", part.logit}};
  if (!is_one) {
    add_ends("logit", mean.logit, json);
  }
  json["reliable"] = is_reliable;
  return json;
}

// Returns the JSON object of prompt i.
Json prompt_json(const AttributionReport& report, std::size_t i) {
  const AttributionResult& result = report.study.prompts[i];
  const AttributionTask& task = report.tasks[i];
  return {{"answer", token_json(task.target, report.tokenizer)},
          {"probability", result.probability},
          {"likeliest", token_json(result.likeliest, report.tokenizer)},
          {"wrong", task.against ? token_json(*task.against, report.tokenizer) : Json()},
          {"position", result.visible - 1},
          {"logit", result.logit}};
}

Json sources_json(const AttributionReport& report) {
  Json json = Json::array();
  for (std::size_t s = 0; s < report.study.sources.size(); ++s) {
    const Interval& logit = report.study.sources[s];
    const bool is_group = !report.study.groups.empty();
    Json entry = is_group ? Json{{"group", report.study.groups[s]}} : Json{{"position", s}};
    if (report.is_one() && !is_group) {
      entry.update(token_json(report.tasks.front().text[s], report.tokenizer));
    }
    entry["logit"] = logit.mean;
    if (!report.is_one()) {
      add_ends("logit", logit, entry);
    }
    json.push_back(std::move(entry));
  }
  return json;
}

// Returns one value of every element, [N].
template <class T, class Items, class Value>
Tensor list_of(const Items& items, const Value& value) {
  const std::vector<T> list =
      transformed(items, [&](const auto& item) { return static_cast<T>(value(item)); });
  return Tensor::from(list, {std::ssize(list)});
}

}  // namespace

std::string AttributionReport::caution() const {
  if (!is_one()) {
    return attribution_caution(study);
  }
  const AttributionTask& task = tasks.front();
  const AttributionResult& result = study.prompts.front();
  return attribution_caution(result, shown_token(task.target, tokenizer),
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

std::string attribution_heading(const AttributionReport& report) {
  const AttributionStudy& study = report.study;
  const AttributionTask& first = report.tasks.front();
  if (!report.is_one()) {
    return concat_text("logit of the answer minus that of the wrong token: ",
                       change_text(study.logit, kEnoughDocuments), " (mean of ",
                       study.prompts.size(), " prompts; the model does ", study.clear,
                       " clearly)\n");
  }
  return "logit of " + quoted_label(first.target, report.tokenizer) +
         (first.against ? " minus that of " + quoted_label(*first.against, report.tokenizer) : "") +
         ": " + signed_number(study.logit.mean, 3) + "; its probability " +
         fixed_number(study.prompts.front().probability, 3) + "\n";
}

std::vector<Table> attribution_tables(const AttributionReport& report) {
  if (report.by == AttributionBy::stream) {
    return {stream_table(report)};
  }
  return report.by == AttributionBy::source ? std::vector{source_table(report), part_table(report)}
                                            : std::vector{part_table(report)};
}

Json attribution_facts(const AttributionReport& report) {
  const AttributionStudy& study = report.study;
  Json json{{"caution", text_or_null(report.caution())}, {"by", name_of(report.by)}};
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
  if (report.by == AttributionBy::source) {
    json["sources"] = sources_json(report);
  }
  return json;
}

Json attribution_parts(const AttributionReport& report, const std::function<void()>& pause) {
  constexpr std::size_t kAtOnce = 4096;
  const bool is_reliable = report.caution().empty();
  Json rows = Json::array();
  for (const MeanLogitPart& part : report.study.parts) {
    rows.push_back(part_json(part, report.is_one(), is_reliable));
    if (rows.size() % kAtOnce == 0) {
      pause();
    }
  }
  return rows;
}

ResultGrid attribution_grid(const AttributionReport& report, Index limit) {
  return {.name = std::string(name_of(report.by)), .plot = plot_of(report, limit)};
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
  std::vector<double> prompts;
  for (const std::vector<double>& logits : study.logits) {
    prompts.insert(prompts.end(), logits.begin(), logits.end());
  }
  const auto doubles = [&](double Interval::*end) {
    return list_of<double>(study.parts, [&](const auto& mean) { return mean.logit.*end; });
  };
  const auto numbers = [&](const auto& number) {
    return list_of<std::int32_t>(study.parts, [&](const auto& mean) { return number(mean.part); });
  };
  NamedTensors arrays{
      {"logit", doubles(&Interval::mean)},
      {"low", doubles(&Interval::low)},
      {"high", doubles(&Interval::high)},
      {"prompts", Tensor::from(prompts, {std::ssize(study.logits), parts})},
      {"totals", list_of<double>(study.prompts, [](const auto& prompt) { return prompt.logit; })},
      {"kind", numbers([](const LogitPart& part) { return part.kind; })},
      {"layer", numbers([](const LogitPart& part) { return part.layer; })},
      {"head", numbers([](const LogitPart& part) { return part.head ? part.head->head : -1; })},
      {"source", numbers([](const LogitPart& part) { return part.source.value_or(-1); })},
      {"neuron", numbers([](const LogitPart& part) { return part.neuron.value_or(-1); })}};
  if (report.by != AttributionBy::stream) {
    const Grid grid = grid_of(report);
    arrays.emplace_back(grid.name, Tensor::from(grid.values, grid.shape));
  }
  if (report.by == AttributionBy::source) {
    arrays.emplace_back("source_sums",
                        list_of<double>(study.sources, [](const auto& sum) { return sum.mean; }));
  }
  if (report.is_one()) {
    const std::vector<std::int32_t>& text = report.tasks.front().text;
    arrays.emplace_back("tokens", Tensor::from(text, {std::ssize(text)}));
  }
  ResultArrays result{.tensors = std::move(arrays),
                      .texts = {{"part", transformed(study.parts, [](const auto& mean) {
                                   return mean.part.name;
                                 })}}};
  if (!study.groups.empty()) {
    result.texts.emplace_back("group", study.groups);
  }
  return result;
}

}  // namespace headlight
