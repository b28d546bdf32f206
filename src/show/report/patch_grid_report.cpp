#include "show/report/patch_grid_report.h"

#include <algorithm>
#include <limits>

#include "base/transformed.h"
#include "show/report/parts/json_output.h"

namespace headlight {
namespace {

// Axes of the grid of cells.
struct PatchLayout {
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
  std::vector<std::size_t> indices = {};  // index of each cell in the grid
};

bool has_positions(const PatchGridOptions& options) {
  return options.by_position || options.by_group;
}

PatchLayout patch_layout(const PatchGridReport& report) {
  const bool by_position = has_positions(report.options);
  PatchLayout layout;
  if (!by_position) {  // some layers may lack some heads
    Index last = 0;
    for (const MeanPatchCell& mean : report.study.cells) {
      last = std::max(last, mean.cell.item.value_or(0));
    }
    layout.columns = report.options.by_item ? numbers_to(last + 1) : std::vector<std::string>{""};
  }
  std::vector<std::pair<std::size_t, std::size_t>> cells;
  for (const auto& [cell, recovered, attribution] : report.study.cells) {
    const std::string item = cell.item ? std::to_string(*cell.item) : "";
    const std::string row =
        std::to_string(cell.layer) + (by_position && cell.item ? "." + item : "");
    cells.emplace_back(
        index_in_axis(row, layout.rows),
        index_in_axis(by_position ? report.position_label(cell) : item, layout.columns));
  }
  for (const auto& [row, column] : cells) {
    layout.indices.push_back(row * layout.columns.size() + column);
  }
  return layout;
}

void set_patch_cell(const Interval& value, std::size_t index, MatrixPlot& plot) {
  plot.values[index] = value.mean;
  if (!plot.lows.empty()) {
    plot.lows[index] = value.low;
    plot.highs[index] = value.high;
  }
}

ResultGrid patch_measure_grid(const PatchGridReport& report, const PatchLayout& layout,
                              const PatchMeasure& measure, bool doubtful) {
  const PatchGridOptions& options = report.options;
  MatrixPlot plot{.title = std::string(measure.title) + std::string(name_of(options.point)),
                  .row_title = has_positions(options) && options.by_item ? "head" : "layer",
                  .column_title = options.by_position ? "position"
                                  : options.by_group  ? "group"
                                  : options.by_item   ? "head"
                                                      : "",
                  .rows = layout.rows,
                  .columns = layout.columns,
                  .limit = 1,
                  .note = doubtful ? "The model does not do this task clearly" : "",
                  .doubtful = doubtful};
  plot.values.assign(plot.rows.size() * plot.columns.size(),
                     std::numeric_limits<double>::quiet_NaN());
  if (!report.is_one()) {
    plot.lows = plot.highs = plot.values;
  }
  for (std::size_t i = 0; i < layout.indices.size(); ++i) {
    set_patch_cell(report.study.cells[i].*measure.value, layout.indices[i], plot);
  }
  return {measure.name, std::move(plot)};
}

// Grid of the metric itself, with the axes and notes of another grid.
ResultGrid difference_grid(const PatchGridReport& report, const PatchLayout& layout,
                           const MatrixPlot& like) {
  MatrixPlot plot = like;
  plot.title = "Difference with each part patched";
  plot.limit = 0;
  plot.lows.clear();
  plot.highs.clear();
  for (std::size_t i = 0; i < layout.indices.size(); ++i) {
    plot.values[layout.indices[i]] = report.study.cells[i].cell.difference;
  }
  return {"difference", std::move(plot)};
}

}  // namespace

std::string PatchGridReport::token(Index position) const {
  if (!is_one()) {
    return "";
  }
  const auto& text = options.noising ? tasks[0].clean : tasks[0].corrupt;
  const std::vector<TokenCell> cells = character_cells(text, tokenizer);
  const auto cell =
      std::ranges::find_if(cells, [&](const auto& one) { return position < one.end; });
  return shown_cell(*cell, text, tokenizer);
}

std::string PatchGridReport::position_label(const PatchCell& cell) const {
  if (cell.group || !cell.position) {
    return cell.group.value_or("");
  }
  const std::string text = token(*cell.position);
  return std::to_string(*cell.position) + (text.empty() ? "" : " " + text);
}

std::string PatchGridReport::cell_name(const PatchCell& cell) const {
  std::string name = concat_text(name_of(options.point), ".", cell.layer);
  name += cell.item ? "." + std::to_string(*cell.item) : "";
  const std::string position = position_label(cell);
  return name + (position.empty() ? "" : " @" + position);
}

std::vector<PatchMeasure> patch_measures(const PatchGridOptions& options) {
  std::vector<PatchMeasure> measures;
  if (options.patch) {
    measures.push_back({"recovered", "Recovered by ", &MeanPatchCell::recovered});
  }
  if (options.attribution) {
    measures.push_back({"attribution", "Attributed by ", &MeanPatchCell::attribution});
  }
  return measures;
}

std::vector<ResultGrid> patch_study_grids(const PatchGridReport& report, bool doubtful) {
  const PatchLayout layout = patch_layout(report);
  std::vector<ResultGrid> grids =
      transformed(patch_measures(report.options), [&](const PatchMeasure& measure) {
        return patch_measure_grid(report, layout, measure, doubtful);
      });
  if (report.options.patch) {
    grids.push_back(difference_grid(report, layout, grids.front().plot));
  }
  return grids;
}

ScatterPlot patch_scatter(const PatchGridReport& report) {
  return {.title = "Attribution against patching",
          .x_label = "attributed (gradient)",
          .y_label = "recovered (patched)",
          .points = transformed(
              report.study.cells,
              [&](const MeanPatchCell& mean) -> ScatterPoint {
                return {report.cell_name(mean.cell), mean.attribution.mean, mean.recovered.mean};
              }),
          .has_diagonal = true};
}

}  // namespace headlight
