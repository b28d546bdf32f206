#include "cli/patching/patch_grid.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <map>
#include <sstream>

#include "base/display_text.h"
#include "base/json.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/prompt_tokens.h"
#include "headlight/files/file_writer.h"
#include "headlight/heads/head_set.h"
#include "headlight/heads/patch_grid.h"
#include "headlight/io/text_source.h"
#include "headlight/views/matrix_plot.h"
#include "views/report/json_output.h"
#include "views/report/table.h"

namespace headlight::cli {
namespace {

PatchGridOptions grid_options(const Options& options) {
  PatchGridOptions grid;
  const PointRange point = parse_point("point", options.text("point"));
  grid.point = point.point;
  grid.layers =
      options.given("layers") ? parse_range("layers", options.text("layers")) : point.layers;
  if (options.given("positions")) {
    grid.positions = parse_range("positions", options.text("positions"));
  }
  const bool has_heads = items_of(grid.point) != PointItems::features;
  const std::string by = options.given("by") ? options.text("by") : has_heads ? "head" : "position";
  grid.by_item = by == "head" || by == "head,position";
  grid.by_position = by == "position" || by == "head,position";
  require(grid.by_item || grid.by_position || by == "layer",
          "--by: expected layer, head, position or head,position, got '", by, "'");
  require(grid.by_position || !options.given("positions"),
          "--positions: expected --by position beside it");
  const std::string method = options.text("method");
  require(method == "patch" || method == "attribution" || method == "both",
          "--method: expected patch, attribution or both, got '", method, "'");
  grid.patch = method != "attribution";
  grid.attribution = method != "patch";
  grid.noising = options.is_set("noising");
  return grid;
}

PatchingTask pair_of(const Json& line, const LoadedModel& loaded) {
  const Tokenizer& tokenizer = *loaded.tokenizer;
  const auto text = [&](const char* key) {
    const Json* value = line.find(key);
    require(value != nullptr && value->is_string(), "key \"", key, "\": expected a text");
    return value->text();
  };
  return {.clean = tokenizer.encode_prompt(text("clean")),
          .corrupt = tokenizer.encode_prompt(text("corrupt")),
          .answer = token_of(text("answer"), "answer", tokenizer),
          .wrong = token_of(text("wrong"), "wrong", tokenizer)};
}

std::vector<PatchingTask> read_pairs(const std::filesystem::path& path, const LoadedModel& loaded) {
  std::vector<PatchingTask> pairs;
  std::istringstream lines(read_text_file(path));
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string::npos) {
      const std::string place = concat_text(path.string(), ": line ", number);
      const Json json = parse_json(line, place);
      in_place(place + ": ", [&] { pairs.push_back(pair_of(json, loaded)); });
    }
  }
  require(!pairs.empty(), path.string(),
          ": expected JSON lines with clean, corrupt, answer, wrong");
  return pairs;
}

// What a study says of the task, as of one pair of mean differences.
struct Strength {
  Index clear = 0;  // pairs that the model does clearly
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
  if (study.pairs.size() == 1) {
    return patching_caution(strength.means, display_label(tokenizer.token_label(task.answer)),
                            display_label(tokenizer.token_label(task.wrong)));
  }
  if (2 * strength.clear < std::ssize(study.pairs)) {
    return concat_text("caution: the model does this task clearly in ", strength.clear, " of ",
                       study.pairs.size(), " pairs: the shares may be chance");
  }
  return few_documents_caution(std::ssize(study.pairs));
}

// What the options ask for, and what came of it.
struct Report {
  const PatchGridOptions& options;
  const PatchStudy& study;
  const PatchingTask& first;  // whose tokens name positions when there is one pair
  const Tokenizer& tokenizer;
  Strength strength;
  std::string caution;

  bool is_one() const { return study.pairs.size() == 1; }
  std::string token(Index position) const {
    const auto& text = options.noising ? first.clean : first.corrupt;
    return is_one() ? display_label(tokenizer.token_label(text[static_cast<std::size_t>(position)]))
                    : "";
  }
  std::string position_label(Index position) const {
    const std::string text = token(position);
    return std::to_string(position) + (text.empty() ? "" : " " + text);
  }
};

std::string by_name(const PatchGridOptions& options) {
  return options.by_item && options.by_position ? "head,position"
         : options.by_item                      ? "head"
         : options.by_position                  ? "position"
                                                : "layer";
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json json_of(const Report& report) {
  const PatchGridOptions& options = report.options;
  Json json{{"point", name_of(options.point)},
            {"by", by_name(options)},
            {"method", options.patch ? options.attribution ? "both" : "patch" : "attribution"},
            {"noising", options.noising},
            {"pairs", report.study.pairs.size()},
            {"pairs_done", report.strength.clear},
            {"caution", report.caution.empty() ? Json() : Json(report.caution)},
            {"clean_difference", report.strength.means.clean_difference},
            {"corrupt_difference", report.strength.means.corrupt_difference},
            {"correlation", number_or_null(report.study.correlation)},
            {"cells", Json::array()}};
  for (const MeanPatchCell& mean : report.study.cells) {
    const PatchCell& cell = mean.cell;
    Json entry{{"layer", cell.layer},
               {"item", cell.item ? Json(*cell.item) : Json()},
               {"position", cell.position ? Json(*cell.position) : Json()}};
    if (cell.position && report.is_one()) {
      entry["token"] = report.token(*cell.position);
    }
    if (options.patch) {
      entry["difference"] = cell.difference;
      entry["recovered"] = cell.recovered;
      entry["recovered_low"] = mean.recovered.low;
      entry["recovered_high"] = mean.recovered.high;
    }
    if (options.attribution) {
      entry["attribution"] = cell.attribution;
      entry["attribution_low"] = mean.attribution.low;
      entry["attribution_high"] = mean.attribution.high;
    }
    json["cells"].push_back(std::move(entry));
  }
  return json;
}

double shown_value(const PatchCell& cell, const PatchGridOptions& options) {
  return options.patch ? cell.recovered : cell.attribution;
}

std::string cell_name(const PatchCell& cell, const Report& report) {
  std::string name = std::string(name_of(report.options.point)) + "." + std::to_string(cell.layer);
  name += cell.item ? "." + std::to_string(*cell.item) : "";
  return name + (cell.position ? " @" + report.position_label(*cell.position) : "");
}

std::string interval_text(const Interval& interval, bool is_one) {
  return signed_number(interval.mean, 3) + (is_one ? ""
                                                   : " [" + signed_number(interval.low, 3) + ", " +
                                                         signed_number(interval.high, 3) + "]");
}

void print(const Report& report, Index limit) {
  if (!report.caution.empty()) {
    std::cout << report.caution << "\n";
  }
  const PatchGridOptions& options = report.options;
  std::cout << "logit of the answer less that of the wrong token: clean "
            << signed_number(report.strength.means.clean_difference, 3) << ", corrupt "
            << signed_number(report.strength.means.corrupt_difference, 3);
  if (!report.is_one()) {
    std::cout << " (means of " << report.study.pairs.size() << " pairs; the model does "
              << report.strength.clear << " clearly)";
  }
  std::cout << "\n\n";
  std::vector<Table::Column> columns{
      {options.noising ? "corrupt in clean" : "clean in corrupt", true}};
  if (options.patch) {
    columns.push_back({"recovered", false});
  }
  if (options.attribution) {
    columns.push_back({"attribution", false});
  }
  Table table(std::move(columns));
  std::vector<MeanPatchCell> cells = report.study.cells;
  std::stable_sort(cells.begin(), cells.end(), [&](const auto& a, const auto& b) {
    return std::abs(shown_value(a.cell, options)) > std::abs(shown_value(b.cell, options));
  });
  const auto rows = limit == 0 ? cells.size() : std::min(cells.size(), std::size_t(limit));
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<std::string> row{cell_name(cells[i].cell, report)};
    if (options.patch) {
      row.push_back(interval_text(cells[i].recovered, report.is_one()));
    }
    if (options.attribution) {
      row.push_back(interval_text(cells[i].attribution, report.is_one()));
    }
    table.add(std::move(row));
  }
  std::cout << table.text();
  if (rows < cells.size()) {
    std::cout << "(the strongest " << rows << " of " << cells.size() << "; --limit 0 shows all)\n";
  }
  if (options.patch && options.attribution) {
    std::cout << "\nattribution agrees with patching with r = "
              << fixed_number(report.study.correlation, 3) << " over " << cells.size()
              << " parts\n";
  }
}

// Layers, or heads where both are apart, by heads or positions.
MatrixPlot plot_of(const Report& report) {
  const PatchGridOptions& options = report.options;
  const bool heads_are_rows = options.by_item && options.by_position;
  MatrixPlot plot{.title = std::string(options.patch ? "Recovered" : "Attributed") + " by " +
                           std::string(name_of(options.point)),
                  .row_title = heads_are_rows ? "head" : "layer",
                  .column_title = options.by_position ? "position"
                                  : options.by_item   ? "head"
                                                      : ""};
  std::map<std::string, std::size_t> row_of;
  std::map<Index, std::size_t> column_of;
  const auto row_name = [&](const PatchCell& cell) {
    return std::to_string(cell.layer) +
           (heads_are_rows ? "." + std::to_string(*cell.item) : std::string());
  };
  const auto column = [&](const PatchCell& cell) {
    return options.by_position ? *cell.position : cell.item.value_or(0);
  };
  for (const MeanPatchCell& mean : report.study.cells) {
    if (row_of.emplace(row_name(mean.cell), row_of.size()).second) {
      plot.rows.push_back(row_name(mean.cell));
    }
    column_of.emplace(column(mean.cell), 0);
  }
  for (auto& [number, place] : column_of) {
    place = plot.columns.size();
    plot.columns.push_back(options.by_position ? report.position_label(number)
                                               : std::to_string(number));
  }
  plot.values.assign(plot.rows.size() * plot.columns.size(),
                     std::numeric_limits<double>::quiet_NaN());
  for (const MeanPatchCell& mean : report.study.cells) {
    plot.values[row_of.at(row_name(mean.cell)) * plot.columns.size() +
                column_of.at(column(mean.cell))] = shown_value(mean.cell, options);
  }
  plot.limit = 1;
  plot.doubtful = 2 * report.strength.clear < std::ssize(report.study.pairs);
  plot.note = plot.doubtful ? "The model does not do this task clearly" : "";
  return plot;
}

}  // namespace

bool asks_for_grid(const Options& options) {
  bool is_grid = options.is_set("noising");
  for (const char* name : {"pairs", "point", "by", "layers", "positions", "method"}) {
    is_grid = is_grid || options.given(name);
  }
  require(!is_grid || !options.given("path"),
          "--path: does not go with --pairs, --point, --by, --layers, --positions, --method and "
          "--noising");
  require(is_grid || !options.given("limit"),
          "--limit: expected --point, --by or --pairs beside it");
  return is_grid;
}

void add_pair_options(Options& options) {
  options.value("clean", "Text whose answer is wanted")
      .value("corrupt", "Text of as many tokens with another answer")
      .value("answer", "Token that should follow the clean text")
      .value("wrong", "Token that should follow the corrupt text")
      .value("pairs", "JSON lines with clean, corrupt, answer and wrong, in their place");
}

PatchingTask task_option(const Options& options, const LoadedModel& loaded) {
  for (const char* name : {"clean", "corrupt"}) {
    require(options.given(name), "--", name, ": is missing");
  }
  const Tokenizer& tokenizer = *loaded.tokenizer;
  PatchingTask task{.clean = block_tokens(options, "clean", loaded),
                    .corrupt = block_tokens(options, "corrupt", loaded)};
  const auto token = [&](const char* name, const std::vector<std::int32_t>& text) {
    return options.given(name) ? token_option(options, name, tokenizer)
                               : likeliest_next(*loaded.model, text);
  };
  task.answer = token("answer", task.clean);
  task.wrong = token("wrong", task.corrupt);
  require(task.answer != task.wrong, "--wrong: expected another token than the answer, got '",
          tokenizer.token_label(task.wrong), "' for both; name them with --answer and --wrong");
  return task;
}

std::vector<PatchingTask> pair_options(const Options& options, const LoadedModel& loaded) {
  if (!options.given("pairs")) {
    return {task_option(options, loaded)};
  }
  for (const char* name : {"clean", "corrupt", "answer", "wrong"}) {
    require(!options.given(name), "--", name, ": does not go with --pairs");
  }
  return read_pairs(options.text("pairs"), loaded);
}

void patch_and_show_grid(const Options& options, const LoadedModel& loaded,
                         const std::vector<PatchingTask>& tasks) {
  PatchGridOptions grid = grid_options(options);
  const Index limit = count_option(options, "limit", 0);
  PatchStudy study;
  {
    CountProgress progress("patching");
    grid.progress = [&](double share) { progress.show(share); };
    study = patch_pairs(*loaded.model, tasks, grid);
  }
  Report report{grid, study, tasks.front(), *loaded.tokenizer, strength_of(study), ""};
  report.caution = caution_of(study, report.strength, tasks.front(), *loaded.tokenizer);
  if (options.given("svg")) {
    write_file(output_file(options, "svg", ".svg"), matrix_plot_svg(plot_of(report)));
  }
  if (options.json()) {
    print_json(json_of(report));
  } else {
    print(report, limit);
  }
}

void show_path(const Options& options, const LoadedModel& loaded, const PatchingTask& task) {
  const std::string text = options.text("path");
  const std::size_t colon = text.find(':');
  const std::size_t dot = text.rfind('.');
  const bool has_end = text.ends_with(".q") || text.ends_with(".k") || text.ends_with(".v");
  require(colon != std::string::npos && has_end && dot > colon,
          "--path: expected FROM:TO.q, .k or .v, as 0.4:3.1.k, got '", text, "'");
  const auto head = [&](const std::string& name) {
    const HeadSet heads = HeadSet::parse(name);
    require(heads.size() == 1, "--path: expected one head, got '", name, "'");
    return heads[0];
  };
  const PatchPath path{.from = head(text.substr(0, colon)),
                       .to = head(text.substr(colon + 1, dot - colon - 1)),
                       .into = parse_name<Point>("path", text.substr(dot + 1))};
  const PatchCell cell = patch_path(*loaded.model, task, path);
  if (options.json()) {
    print_json({{"from", head_name(path.from)},
                {"to", head_name(path.to)},
                {"into", name_of(path.into)},
                {"difference", cell.difference},
                {"recovered", cell.recovered}});
  } else {
    std::cout << "what " << head_name(path.from) << " writes into the " << name_of(path.into)
              << " of " << head_name(path.to) << " recovers " << signed_number(cell.recovered, 3)
              << " (difference " << signed_number(cell.difference, 3) << ")\n";
  }
}

}  // namespace headlight::cli
