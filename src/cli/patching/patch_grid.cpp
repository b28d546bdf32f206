#include "cli/patching/patch_grid.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <span>

#include "base/transformed.h"
#include "cli/patching/task_options.h"
#include "cli/terminal/progress.h"
#include "headlight/interpret/circuit/path_patching.h"
#include "headlight/interpret/effects/patch_grid.h"
#include "headlight/interpret/head_set.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/table.h"
#include "show/report/patch_grid_report.h"

namespace headlight::cli {
namespace {

// Value of --by; "" for the default of the point.
std::string by_option(const Options& options) {
  return options.given("by")                                     ? options.text("by")
         : options.given("group") && !options.given("positions") ? "group"
                                                                 : "";
}

PatchGridOptions grid_options(const Options& options) {
  PatchGridOptions grid;
  const PointRange point = parse_point("point", options.text("point"));
  grid.point = point.point;
  grid.layers =
      options.given("layers") ? parse_range("layers", options.text("layers")) : point.layers;
  if (options.given("positions")) {
    grid.positions = parse_range("positions", options.text("positions"));
  }
  set_parts(grid, by_option(options));
  require(grid.by_group || !options.given("group"), "--group: needs --by group");
  const std::string method = options.text("method");
  grid.patch = method != "attribution";
  grid.attribution = method != "patch";
  grid.noising = options.given("noising");
  grid.fix_pattern = options.given("qk_fix");
  grid.drop_gradients = options.given("grad_drop");
  require(method == "both" || !options.given("scatter"), "--scatter: needs --method both");
  return grid;
}

// Strength of the task in a study: number of clear pairs, and mean differences.
struct Strength {
  Index clear = 0;  // pairs that the model solves clearly
  PatchingResult means;
};

Strength strength_of(const PatchStudy& study) {
  Strength strength;
  const auto count = static_cast<double>(study.pairs.size());
  for (const PatchGrid& pair : study.pairs) {
    const PatchingResult one{.clean_difference = pair.clean_difference,
                             .corrupt_difference = pair.corrupt_difference,
                             .heads = {}};
    strength.clear += one.strength() == TaskStrength::clear ? 1 : 0;
    strength.means.clean_difference += pair.clean_difference / count;
    strength.means.corrupt_difference += pair.corrupt_difference / count;
  }
  return strength;
}

std::string caution_of(const PatchStudy& study, const Strength& strength, const PatchingTask& task,
                       const Tokenizer& tokenizer) {
  if (has_own_metric({task})) {
    return study.pairs.size() == 1 ? "" : few_documents_caution(std::ssize(study.pairs));
  }
  if (study.pairs.size() == 1) {
    return patching_caution(strength.means, answer_label(task.answer, tokenizer),
                            answer_label(task.wrong, tokenizer));
  }
  if (2 * strength.clear < std::ssize(study.pairs)) {
    return concat_text("caution: the model does this task clearly in ", strength.clear, " of ",
                       study.pairs.size(), " pairs: the shares may be chance");
  }
  return few_documents_caution(std::ssize(study.pairs));
}

struct GridReport : PatchGridReport {
  const Options& command;
  Strength strength;
  std::string by;
  std::string caution;
};

Json cell_json(const MeanPatchCell& mean, const GridReport& report) {
  const PatchCell& cell = mean.cell;
  Json entry{{"layer", cell.layer},
             {"item", cell.item ? Json(*cell.item) : Json()},
             {"position", cell.position ? Json(*cell.position) : Json()}};
  if (cell.group) {
    entry["group"] = *cell.group;
  }
  if (cell.position && report.is_one()) {
    entry["token"] = report.token(*cell.position);
  }
  if (report.options.patch) {
    entry["difference"] = cell.difference;
    entry["recovered"] = cell.recovered;
    entry["recovered_low"] = mean.recovered.low;
    entry["recovered_high"] = mean.recovered.high;
  }
  if (report.options.attribution) {
    entry["attribution"] = cell.attribution;
    entry["attribution_low"] = mean.attribution.low;
    entry["attribution_high"] = mean.attribution.high;
  }
  return entry;
}

Json json_of(const GridReport& report) {
  const PatchGridOptions& options = report.options;
  return {{"point", name_of(options.point)},
          {"by", report.by},
          {"method", options.patch ? options.attribution ? "both" : "patch" : "attribution"},
          {"noising", options.noising},
          {"metric", metric_name(report.command, report.tasks)},
          {"pairs", report.study.pairs.size()},
          {"pairs_done", has_own_metric(report.tasks) ? Json() : Json(report.strength.clear)},
          {"caution", text_or_null(report.caution)},
          {"clean_difference", report.strength.means.clean_difference},
          {"corrupt_difference", report.strength.means.corrupt_difference},
          {"correlation", report.study.correlation},
          {"cells", transformed(report.study.cells, [&](const MeanPatchCell& mean) {
             return cell_json(mean, report);
           })}};
}

double shown_value(const PatchCell& cell, const PatchGridOptions& options) {
  return options.patch ? cell.recovered : cell.attribution;
}

// Mean and interval, with a question mark if a caution says that they may be chance.
std::string interval_text(const Interval& interval, const GridReport& report) {
  const std::string range =
      " [" + signed_number(interval.low, 3) + ", " + signed_number(interval.high, 3) + "]";
  return signed_number(interval.mean, 3) + (report.is_one() ? "" : range) +
         (report.caution.empty() ? "" : " ?");
}

std::string differences_text(const GridReport& report) {
  const PatchingResult& means = report.strength.means;
  return measured_differences(
      report.command, report.tasks,
      {means.clean_difference, means.corrupt_difference, report.strength.clear}, report.tokenizer);
}

std::vector<MeanPatchCell> sorted_cells(const GridReport& report) {
  std::vector<MeanPatchCell> cells = report.study.cells;
  std::ranges::stable_sort(cells, [&](const auto& a, const auto& b) {
    return std::abs(shown_value(a.cell, report.options)) >
           std::abs(shown_value(b.cell, report.options));
  });
  return cells;
}

Table table_of(const GridReport& report, std::span<const MeanPatchCell> cells) {
  const PatchGridOptions& options = report.options;
  const std::vector<PatchMeasure> measures = patch_measures(options);
  std::vector<Table::Column> columns{
      {options.noising ? "corrupt in clean" : "clean in corrupt", true}};
  for (const PatchMeasure& measure : measures) {
    columns.push_back({measure.name});
  }
  Table table(std::move(columns));
  for (const MeanPatchCell& cell : cells) {
    std::vector<std::string> row{report.cell_name(cell.cell)};
    for (const PatchMeasure& measure : measures) {
      row.push_back(interval_text(cell.*measure.value, report));
    }
    table.add(std::move(row));
  }
  return table;
}

// Correlation between attribution and patching; "" unless both were computed.
std::string agreement_text(const GridReport& report) {
  return report.options.patch && report.options.attribution
             ? concat_text("attribution agrees with patching with r = ",
                           fixed_number(report.study.correlation, 3), " over ",
                           report.study.cells.size(), " parts")
             : "";
}

std::string text_of(const GridReport& report, Index limit) {
  const std::vector<MeanPatchCell> cells = sorted_cells(report);
  const auto rows = limit == 0 ? cells.size() : std::min(cells.size(), std::size_t(limit));
  const std::string agreement = agreement_text(report);
  return report.caution + (report.caution.empty() ? "" : "\n") + differences_text(report) + "\n\n" +
         table_of(report, std::span(cells).first(rows)).text() +
         (rows == cells.size() ? ""
                               : concat_text("(the strongest ", rows, " of ", cells.size(),
                                             "; --limit 0 shows all)\n")) +
         (agreement.empty() ? "" : "\n" + agreement + "\n");
}

ResultPage page_of(const GridReport& report, const std::vector<ResultGrid>& grids) {
  const std::string agreement = agreement_text(report);
  return {
      .title = "Difference carried by " + std::string(name_of(report.options.point)),
      .note = concat_text(report.caution, report.caution.empty() ? "" : ". ",
                          differences_text(report), agreement.empty() ? "" : "; ", agreement, "."),
      .grids = grids};
}

// Name of the receiving head. A patched key or value names all heads that share it.
std::string shared_receiver_name(const PathReceiver& receiver, const HeadLayout& heads) {
  CircuitNode node = receiver.node;
  if (node.part != CircuitPart::head || receiver.into == Point::q) {
    return node_name(node);
  }
  const std::vector<Index>& numbers = heads.numbers[static_cast<std::size_t>(node.layer)];
  const Index key = heads.key_index(node.layer, head_index({node.layer, node.head}, heads));
  for (Index index = std::ssize(numbers) - 1; index >= 0; --index) {
    if (heads.key_index(node.layer, index) == key) {
      node.head = numbers[static_cast<std::size_t>(index)];
      node.last = std::max(node.last, node.head);
    }
  }
  return node_name(node);
}

}  // namespace

bool asks_for_grid(const Options& options) {
  constexpr std::array kOfGrids{"pairs",  "point",   "by",     "layers",    "positions", "group",
                                "method", "noising", "qk_fix", "grad_drop", "scatter"};
  const bool is_grid =
      std::ranges::any_of(kOfGrids, [&](const char* name) { return options.given(name); });
  require(!is_grid || !options.given("path"),
          "--path: cannot be combined with --pairs, --point, --by, --layers, --positions, --group, "
          "--method, --noising, --qk_fix, --grad_drop and --scatter");
  if (options.given("path")) {
    refuse_options(options, {"svg", "png", "npz", "html"},
                   "cannot be combined with --path, which gives a single number");
  }
  if (options.json()) {
    refuse_options(options, {"limit"}, "cannot be combined with --json, which has all rows");
  }
  require(is_grid || !options.given("limit"), "--limit: needs --point, --by or --pairs");
  return is_grid;
}

void patch_and_show_grid(const Options& options, const LoadedModel& loaded,
                         const ResultFiles& files) {
  PatchGridOptions grid = grid_options(options);
  const std::vector<PatchingTask> tasks = pair_options(options, loaded, grid.by_group);
  const Index limit = count_option(options, "limit", 0);
  grid.progress = progress_bar("patching");
  const PatchStudy study = patch_pairs(*loaded.model, tasks, grid);
  grid.progress = {};
  GridReport report{
      {grid, study, tasks, *loaded.tokenizer}, options, strength_of(study), parts_name(grid), ""};
  report.caution = caution_of(study, report.strength, tasks.front(), *loaded.tokenizer);
  const std::vector<ResultGrid> grids = patch_study_grids(
      report, !has_own_metric(tasks) && 2 * report.strength.clear < std::ssize(study.pairs));
  files.write(
      grids, [&] { return page_of(report, grids); },
      [&] { return scatter_plot_svg(patch_scatter(report)); });
  std::cout << (options.json() ? json_line(json_of(report)) : text_of(report, limit));
}

void show_path(const Options& options, const LoadedModel& loaded, const PatchingTask& task) {
  const std::string text = options.text("path");
  const std::size_t colon = text.find(':');
  require(colon != std::string::npos,
          "--path: expected FROM:TO.q, .k or .v, e.g. 0.4:3.1.k, or FROM:mlp.3, got '", text, "'");
  const PatchPath path{.from = parse_node("--path", text.substr(0, colon)),
                       .to = {parse_receiver("--path", text.substr(colon + 1))}};
  const PathEffect effect = patch_path(*loaded.model, task, path);
  const std::optional<Point> into = path.to.front().into;
  const std::string receiver = shared_receiver_name(path.to.front(), loaded.model->heads());
  if (options.json()) {
    print_json({{"from", node_name(path.from)},
                {"to", receiver},
                {"into", into ? Json(name_of(*into)) : Json()},
                {"metric", metric_name(options, {task})},
                {"difference", effect.difference},
                {"recovered", effect.recovered}});
  } else {
    std::cout << "the output of " << node_name(path.from) << " through "
              << (into ? concat_text("the ", name_of(*into), " of ") : std::string()) << receiver
              << " recovers " << signed_number(effect.recovered, 3) << " (difference "
              << signed_number(effect.difference, 3) << ")\n";
  }
}

}  // namespace headlight::cli
