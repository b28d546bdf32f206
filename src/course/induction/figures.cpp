#include <cmath>
#include <limits>

#include "course/induction/show.h"
#include "course/report/pictures.h"
#include "headlight/interpret/effects/patch_grid.h"
#include "headlight/show/plot/circuit_plot.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/table.h"

namespace headlight::cli::lab {
namespace {

constexpr double kPrinted = 0.05;  // cells print weights from here on

// Draws the attention map of a head on repeated tokens. Future positions stay empty.
void draw_map(const std::string& file, const HeadId& head, const Subject& subject, Report& report) {
  const auto [tokens, weights] = map_of(subject, head);
  MatrixPlot plot{.rows = tokens, .columns = tokens, .values = weights.to_vector(), .limit = 1};
  for (std::size_t i = 0; i < plot.values.size(); ++i) {
    const bool is_future = i % tokens.size() > i / tokens.size();
    plot.values[i] = is_future ? std::numeric_limits<double>::quiet_NaN() : plot.values[i];
    plot.texts.push_back(plot.values[i] >= kPrinted ? fixed_number(plot.values[i], 1) : "");
  }
  draw_matrix(file, plot, report, {{"head", head_name(head)}});
}

// Draws the recovered share of every head at every token of the first pair.
void draw_positions(const Findings& findings, const Subject& subject, Report& report) {
  const PatchingTask& task = findings.pairs.front().task;
  const PatchGrid grid = patch_grid(*subject.model, task, {.by_position = true});
  MatrixPlot plot{.columns = shown_tokens(task.clean, *subject.tokenizer), .limit = 1};
  for (const PatchCell& cell : grid.cells) {
    if (cell.position == 0) {
      plot.rows.push_back(head_name({cell.layer, *cell.item}));
    }
    plot.values.push_back(cell.recovered);
  }
  draw_matrix("positions.svg", plot, report);
}

void draw_paths(const Findings& findings, Report& report) {
  const auto word = [&](const char* name) { return report.entry("paths.svg", name); };
  MatrixPlot plot{.columns = {word("query"), word("key"), word("value")}, .limit = 1};
  for (const PathFinding& path : findings.paths) {
    plot.rows.push_back(head_name(path.from));
    for (const Interval& share : path.into) {
      plot.values.push_back(share.mean);
    }
  }
  draw_matrix("paths.svg", plot, report, {{"receiver", head_name(findings.receiver)}});
}

void draw_circuit(const Findings& findings, Report& report) {
  const CircuitResult& circuit = findings.circuit;
  if (circuit.kept > 0) {
    report.figure("circuit.svg",
                  circuit_svg(circuit, report.entry("circuit.svg", "title"),
                              report.entry("circuit.svg", "caption", json_of(findings))));
  }
  PlotSeries series;
  for (const CircuitFit& fit : circuit.curve) {
    series.x.push_back(std::log2(static_cast<double>(fit.edges)));
    series.y.push_back(fit.faithfulness);
  }
  draw_curves({.file = "faithfulness.svg", .series = {series}, .points = true}, report);
}

}  // namespace

void draw_findings(const Findings& findings, const Subject& subject, Report& report) {
  if (!subject.updates.empty()) {
    draw_curves({.file = "birth.svg",
                 .series = {{.name = "", .x = subject.updates, .y = subject.second_copy}}},
                report);
  }
  draw_map("receiver.svg", findings.receiver, subject, report);
  if (findings.source) {
    draw_map("source.svg", *findings.source, subject, report);
  }
  if (findings.does_task()) {
    draw_positions(findings, subject, report);
    draw_circuit(findings, report);
  }
  if (findings.does_task() && !findings.paths.empty()) {
    draw_paths(findings, report);
  }
}

}  // namespace headlight::cli::lab
