#include <iostream>

#include "base/display_text.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/patching/patch_grid.h"
#include "cli/terminal/interventions.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "headlight/files/file_writer.h"
#include "headlight/heads/circuit.h"
#include "headlight/views/circuit_plot.h"
#include "headlight/views/line_plot.h"
#include "views/report/json_output.h"
#include "views/report/table.h"

namespace headlight::cli {
namespace {

constexpr const char* kDetails =
    "Which heads and MLPs read what others write, when the model tells two texts apart. Every "
    "edge\n"
    "from a writer (embed, heads, MLPs) to a reader (query, key and value of heads, MLPs, logits)\n"
    "is scored by edge attribution patching with integrated gradients: the share of the "
    "difference\n"
    "of two logits, answer less wrong, that it carries from the clean text. The strongest edges "
    "are\n"
    "kept, --edges of them or as many as reach --faithfulness, less those that lead nowhere, and\n"
    "checked: the model reads the clean text while all others carry what they do on the corrupt\n"
    "one. Faithfulness is 1 when that gives the whole model's difference, 0 the corrupt text's.\n"
    "A name such as 3.0-2 is the key or value that heads 0 to 2 of layer 3 share. Where a norm\n"
    "stands behind a part, or behind the stream it went into, an edge carries what that norm "
    "makes\n"
    "of it.\n\n"
    "--svg draws the graph, --curve faithfulness against edges. Several pairs (--pairs) make a\n"
    "circuit of the task and not of one text. The circuit is one of this metric and of what these\n"
    "texts differ in: what both use alike is not in it.\n\n"
    "JSON keys: pairs, pairs_done, caution, clean_difference, corrupt_difference, edges (in the\n"
    "model), kept, faithfulness, circuit[{from, to, into, score}], curve[{edges, faithfulness}].";

Options make_options() {
  Options options(
      {.name = "circuit",
       .summary = "The edges among heads and MLPs that a task uses, checked by cutting the rest.",
       .positional = "MODEL",
       .details = kDetails,
       .examples = {
           "headlight circuit runs/toy --clean \"Mina could not find her red key. She "
           "looked under the table, but there was no red\" --corrupt \"Mina could not "
           "find her red hat. She looked under the table, but there was no red\" "
           "--answer \" key\" --wrong \" hat\" --svg circuit.svg",
           "headlight circuit runs/toy --pairs pairs.jsonl --edges 40 --curve curve.svg"}});
  add_pair_options(options);
  add_intervene_options(options);
  options.value("edges", "Keep so many at most; 0: as --faithfulness takes", "0")
      .value("faithfulness", "Keep as few edges as reach this", "0.8")
      .value("steps", "Points of the integrated gradients; 1: at the clean text alone", "5")
      .value("limit", "Rows of the table; 0: all", "20")
      .value("svg", "Draw the circuit to this file")
      .value("curve", "Draw faithfulness against edges to this file");
  return options;
}

CircuitOptions circuit_options(const Options& options) {
  const double faithfulness = options.number("faithfulness");
  require(faithfulness > 0 && faithfulness <= 1,
          "--faithfulness: expected a number above 0 to 1, got ", faithfulness);
  return {.steps = count_option(options, "steps", 1, 1000),
          .edges = count_option(options, "edges", 0),
          .faithfulness = faithfulness};
}

// What the user must know before believing it; "" for nothing.
std::string caution_of(const CircuitResult& result, std::size_t pairs) {
  if (2 * result.pairs_done <= static_cast<Index>(pairs) && result.pairs_done == 0) {
    return "caution: the model does not do this task clearly: the circuit may be chance";
  }
  if (2 * result.pairs_done < static_cast<Index>(pairs)) {
    return concat_text("caution: the model does this task clearly in ", result.pairs_done, " of ",
                       pairs, " pairs");
  }
  return "";
}

Json json_of(const CircuitResult& result, std::size_t pairs) {
  const std::string caution = caution_of(result, pairs);
  Json json{{"pairs", pairs},
            {"pairs_done", result.pairs_done},
            {"caution", caution.empty() ? Json() : Json(caution)},
            {"clean_difference", result.clean_difference},
            {"corrupt_difference", result.corrupt_difference},
            {"edges", result.edges.size()},
            {"kept", result.kept},
            {"faithfulness", result.faithfulness},
            {"circuit", Json::array()},
            {"curve", Json::array()}};
  for (const CircuitEdge& edge : result.edges) {
    if (edge.is_kept) {
      json["circuit"].push_back({{"from", node_name(edge.from)},
                                 {"to", node_name(edge.to)},
                                 {"into", edge.into ? Json(name_of(*edge.into)) : Json()},
                                 {"score", edge.score}});
    }
  }
  for (const CircuitFit& fit : result.curve) {
    json["curve"].push_back({{"edges", fit.edges}, {"faithfulness", fit.faithfulness}});
  }
  return json;
}

std::string summary(const CircuitResult& result) {
  return concat_text(result.kept, " of ", result.edges.size(), " edges, faithfulness ",
                     fixed_number(result.faithfulness, 2));
}

void print(const CircuitResult& result, std::size_t pairs, Index limit) {
  const std::string caution = caution_of(result, pairs);
  std::cout << caution << (caution.empty() ? "" : "\n")
            << "logit of the answer less that of the wrong token: clean "
            << signed_number(result.clean_difference, 3) << ", corrupt "
            << signed_number(result.corrupt_difference, 3);
  if (pairs > 1) {
    std::cout << " (means of " << pairs << " pairs; the model does " << result.pairs_done
              << " clearly)";
  }
  std::cout << "\ncircuit: " << summary(result) << "\n\n";
  Table table({{"edge", true}, {"share", false}});
  Index shown = 0;
  for (const CircuitEdge& edge : result.edges) {
    if (edge.is_kept && (limit == 0 || shown < limit)) {
      table.add({edge_name(edge), signed_number(edge.score, 3)});
      ++shown;
    }
  }
  std::cout << table.text();
  if (shown < result.kept) {
    std::cout << "(the strongest " << shown << "; --limit 0 shows all)\n";
  }
  Table curve({{"edges", false}, {"faithfulness", false}});
  for (const CircuitFit& fit : result.curve) {
    curve.add({std::to_string(fit.edges), fixed_number(fit.faithfulness, 3)});
  }
  std::cout << "\n" << curve.text();
}

std::string curve_svg(const CircuitResult& result) {
  PlotSeries series;
  series.points = true;
  for (const CircuitFit& fit : result.curve) {
    series.x.push_back(std::log2(static_cast<double>(fit.edges)));
    series.y.push_back(fit.faithfulness);
  }
  return line_plot_svg({.title = "Faithfulness of the strongest edges",
                        .x_label = "edges, as a power of two",
                        .y_label = "faithfulness",
                        .series = {series}});
}

int run(const Options& options) {
  CircuitOptions wanted = circuit_options(options);
  const Index limit = count_option(options, "limit", 0);
  const LoadedModel loaded = load_model(options.positional());
  intervene(options, loaded);
  const std::vector<PatchingTask> tasks = pair_options(options, loaded);
  CircuitResult result;
  {
    CountProgress progress("finding the circuit");
    wanted.progress = [&](double share) { progress.show(share); };
    result = find_circuit(*loaded.model, tasks, wanted);
  }
  if (options.given("svg")) {
    write_file(output_file(options, "svg", ".svg"),
               circuit_svg(result, "Circuit", summary(result)));
  }
  if (options.given("curve")) {
    write_file(output_file(options, "curve", ".svg"), curve_svg(result));
  }
  if (options.json()) {
    print_json(json_of(result, tasks.size()));
  } else {
    print(result, tasks.size(), limit);
  }
  return 0;
}

}  // namespace

int run_circuit(const std::vector<std::string>& arguments) {
  return run_command(make_options(), arguments, run);
}

}  // namespace headlight::cli
