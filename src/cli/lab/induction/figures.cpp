#include <cmath>
#include <limits>

#include "cli/lab/induction/show.h"
#include "cli/lab/induction/words.h"
#include "cli/lab/pictures.h"
#include "headlight/heads/effects/patch_grid.h"
#include "headlight/views/plot/circuit_plot.h"
#include "headlight/views/plot/matrix_plot.h"
#include "views/report/json_output.h"

namespace headlight::cli::lab {
namespace {

constexpr double kPrinted = 0.05;  // cells print weights from here on

void draw_birth(const Subject& subject, Report& report) {
  draw_curves("birth.svg",
              {.title = report.words({"Loss on the second copy of random tokens",
                                      "무작위 토큰의 두 번째 사본에서 잰 손실"}),
               .x_label = {"update", "업데이트"},
               .y_label = {"nats a token", "토큰당 nat"},
               .series = {{.name = "", .x = subject.updates, .y = subject.second_copy}}},
              report);
}

// Attention map of a head on repeated tokens. Future positions stay empty.
std::string map_svg(const Subject& subject, const HeadId& head, const Text& title,
                    const Report& report) {
  const std::vector<std::int32_t> tokens = repeated_example(subject);
  MatrixPlot plot{.title = report.words(title, {head_name(head)}),
                  .row_title = report.words({"query", "쿼리"}),
                  .column_title = report.words({"key", "키"}),
                  .rows = shown_tokens(tokens, *subject.tokenizer),
                  .columns = shown_tokens(tokens, *subject.tokenizer),
                  .values = map_of(subject, head, tokens).to_vector(),
                  .limit = 1};
  for (std::size_t i = 0; i < plot.values.size(); ++i) {
    const bool is_future = i % tokens.size() > i / tokens.size();
    plot.values[i] = is_future ? std::numeric_limits<double>::quiet_NaN() : plot.values[i];
    plot.texts.push_back(plot.values[i] >= kPrinted ? fixed_number(plot.values[i], 1) : "");
  }
  return matrix_plot_svg(plot);
}

// Draws the maps of the receiver and the source head.
void draw_maps(const Findings& findings, const Subject& subject, Report& report) {
  report.figure("receiver.svg", map_svg(subject, findings.receiver,
                                        {"What {0} looks at while tokens repeat: it finds B",
                                         "토큰이 되풀이될 때 {0} 헤드가 보는 곳: B를 찾는다"},
                                        report));
  if (findings.source) {
    report.figure("source.svg",
                  map_svg(subject, *findings.source,
                          {"What {0} looks at while tokens repeat: it tells where",
                           "토큰이 되풀이될 때 {0} 헤드가 보는 곳: 볼 곳을 알려 준다"},
                          report));
  }
}

// Draws the recovered share of every head at every token of the first pair.
void draw_positions(const Findings& findings, const Subject& subject, Report& report) {
  const PatchingTask& task = findings.pairs.front().task;
  const PatchGrid grid = patch_grid(*subject.model, task, {.by_position = true});
  MatrixPlot plot{.title = report.words({"Brought back by each head at each token of one pair",
                                         "글 한 쌍에서 헤드와 토큰마다 되살린 몫"}),
                  .row_title = report.words({"head", "헤드"}),
                  .column_title = report.words({"token of the clean text", "원문의 토큰"}),
                  .columns = shown_tokens(task.clean, *subject.tokenizer),
                  .limit = 1};
  for (const PatchCell& cell : grid.cells) {
    if (cell.position == 0) {
      plot.rows.push_back(head_name({cell.layer, *cell.item}));
    }
    plot.values.push_back(cell.recovered);
  }
  report.figure("positions.svg", matrix_plot_svg(plot));
}

void draw_paths(const Findings& findings, Report& report) {
  MatrixPlot plot{.title = report.words({"Share that one path into {0} brings back",
                                         "{0} 헤드로 가는 경로 하나가 되살리는 몫"},
                                        {head_name(findings.receiver)}),
                  .row_title = report.words({"from", "보내는 헤드"}),
                  .column_title = report.words({"into", "받는 자리"}),
                  .columns = {report.words({"query", "쿼리"}), report.words({"key", "키"}),
                              report.words({"value", "값"})},
                  .limit = 1};
  for (const PathFinding& path : findings.paths) {
    plot.rows.push_back(head_name(path.from));
    for (const Interval& share : path.into) {
      plot.values.push_back(share.mean);
    }
  }
  report.figure("paths.svg", matrix_plot_svg(plot));
}

void draw_circuit(const CircuitResult& circuit, Report& report) {
  if (circuit.kept > 0) {
    report.figure("circuit.svg",
                  circuit_svg(circuit, report.words({"The circuit of induction", "귀납 회로"}),
                              report.words({"{0} of {1} edges, faithfulness {2}",
                                            "연결 {1}개 가운데 {0}개, 충실도 {2}"},
                                           {std::to_string(circuit.kept),
                                            std::to_string(circuit.edges.size()),
                                            fixed_number(circuit.faithfulness, 2)})));
  }
  PlotSeries series{.name = "", .x = {}, .y = {}};
  for (const CircuitFit& fit : circuit.curve) {
    series.x.push_back(std::log2(static_cast<double>(fit.edges)));
    series.y.push_back(fit.faithfulness);
  }
  draw_curves("faithfulness.svg",
              {.title = report.words(
                   {"Faithfulness of the strongest edges", "가장 강한 연결만 남겼을 때의 충실도"}),
               .x_label = {"log2 of the number of edges", "연결 수의 log2"},
               .y_label = {"faithfulness", "충실도"},
               .series = {series},
               .points = true},
              report);
}

}  // namespace

void draw_findings(const Findings& findings, const Subject& subject, Report& report) {
  if (!subject.updates.empty()) {
    draw_birth(subject, report);
  }
  draw_maps(findings, subject, report);
  if (!findings.does_task()) {
    return;
  }
  draw_positions(findings, subject, report);
  if (!findings.paths.empty()) {
    draw_paths(findings, report);
  }
  draw_circuit(findings.circuit, report);
}

}  // namespace headlight::cli::lab
