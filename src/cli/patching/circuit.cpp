#include <cmath>
#include <iostream>

#include "base/transformed.h"
#include "cli/commands.h"
#include "cli/option_groups/interventions.h"
#include "cli/option_groups/text_data.h"
#include "cli/patching/task_options.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/result_files.h"
#include "headlight/interpret/circuit/circuit.h"
#include "headlight/show/plot/circuit_plot.h"
#include "headlight/show/plot/line_plot.h"
#include "show/report/circuit_report.h"
#include "show/report/parts/interval_text.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/table.h"

namespace headlight::cli {
namespace {

constexpr const char* kCircuitDetails =
    "Finds the connections between heads and MLPs that the model uses to distinguish two "
    "texts. Every edge from a writer (embed, heads, MLPs) to a reader (query, key and value of "
    "heads, MLPs, logits) is scored by edge attribution patching with integrated gradients. "
    "The score is the share of the difference in the metric that the edge carries.\n\n"
    "The strongest edges are kept: --edges of them, or as many as reach --faithfulness, "
    "without edges that lead nowhere. A run checks them: the model reads the clean text, and "
    "all other edges carry their values on the corrupt one. A faithfulness of 1 gives the "
    "whole model's difference, 0 the corrupt text's.\n\n"
    "A name such as 3.0-2 is the key or value shared by heads 0 to 2 of layer 3. If a norm "
    "follows a part, or the stream it writes to, an edge carries the output of that norm.\n\n"
    "--svg and --png draw the graph, --curve faithfulness against edges, --html both. Several "
    "pairs (--pairs) give a circuit of the task instead of one text. The circuit depends on "
    "the metric and on the difference between the texts: parts that both texts use alike are "
    "not in it.\n\n"
    "--npz holds for every edge of the model, the strongest first, score, kept (1 or 0) and "
    "the names from, to and into [E]; and curve_edges and curve_faithfulness [P].\n\n"
    "--ablation mean and resample need pairs with texts of one length. --random_sets shows whether "
    "the faithfulness is more than any edges of that number give.\n\n"
    "JSON keys: metric (logit_difference, log_probability_difference or that of --metric), pairs, "
    "pairs_done (null with --metric), "
    "caution, clean_difference, corrupt_difference, edges (in the model), kept, faithfulness, "
    "ablation, random{mean, low, high} (null without --random_sets), "
    "circuit[{from, to, into, score}], curve[{edges, faithfulness}].";

Options circuit_options() {
  Options options(
      {.name = "circuit",
       .summary = "Find the connections between heads and MLPs that a task uses.",
       .positional = "MODEL",
       .details = kCircuitDetails + std::string("\n\n") + kTaskDetails,
       .examples = {
           "headlight circuit runs/toy " + kExamplePair + " --svg circuit.svg",
           "headlight circuit runs/toy --pairs pairs.jsonl --edges 40 --curve curve.svg"}});
  add_pair_options(options);
  add_metric_option(options);
  add_intervene_options(options);
  options
      .value("edges", "Keep at most this number of edges; 0: as many as --faithfulness needs", "0")
      .value("faithfulness",
             "Keep the fewest edges whose circuit reaches this faithfulness (above 0 to 1)", "0.8")
      .value("steps", "Number of points of the integrated gradients; 1: the clean text only", "5")
      .choice("ablation",
              "Values of cut edges: of the pair's corrupt text, its mean over all corrupt texts by "
              "position, or that of the next pair",
              kChoiceNames<CircuitAblation>, "corrupt")
      .value("random_sets", "Compare with N sets of as many random edges; 0: none", "0")
      .value("seed", "Seed of the random edges", "1337")
      .value("limit", "Show the strongest N edges; 0: all", "20")
      .value("curve", "Draw faithfulness against the number of edges to this .svg file");
  add_result_options(options);
  options.paths({"curve"}).basic({"edges", "faithfulness", "curve"});
  return options;
}

CircuitOptions circuit_options(const Options& options) {
  const Index random_sets = options.integer("random_sets");
  require(random_sets > 0 || !options.given("seed"), "--seed: needs --random_sets");
  return {.steps = options.integer("steps"),
          .edges = options.integer("edges"),
          .faithfulness = options.given("faithfulness")
                              ? std::optional(options.number("faithfulness"))
                              : std::nullopt,
          .ablation = options.chosen<CircuitAblation>("ablation"),
          .random_sets = random_sets,
          .seed = seed_option(options)};
}

std::string caution_of(const CircuitResult& result, const std::vector<PatchingTask>& tasks) {
  const std::size_t pairs = tasks.size();
  if (has_own_metric(tasks)) {
    return "";
  }
  if (result.pairs_done == 0) {
    return "caution: the model does not do this task clearly: the circuit may be chance";
  }
  if (2 * result.pairs_done < static_cast<Index>(pairs)) {
    return concat_text("caution: the model does this task clearly in ", result.pairs_done, " of ",
                       pairs, " pairs");
  }
  return "";
}

Json json_of(const Options& options, const CircuitResult& result,
             const std::vector<PatchingTask>& tasks) {
  Json json{{"metric", metric_name(options, tasks)},
            {"pairs", tasks.size()},
            {"pairs_done", has_own_metric(tasks) ? Json() : Json(result.pairs_done)},
            {"caution", text_or_null(caution_of(result, tasks))},
            {"clean_difference", result.clean_difference},
            {"corrupt_difference", result.corrupt_difference},
            {"edges", result.edges.size()},
            {"kept", result.kept},
            {"faithfulness", result.faithfulness},
            {"ablation", options.text("ablation")},
            {"random", result.random ? interval_json(*result.random) : Json()},
            {"circuit", Json::array()}};
  for (const CircuitEdge& edge : result.edges) {
    if (edge.is_kept) {
      json["circuit"].push_back({{"from", node_name(edge.from)},
                                 {"to", node_name(edge.to)},
                                 {"into", edge.into ? Json(name_of(*edge.into)) : Json()},
                                 {"score", edge.score}});
    }
  }
  json["curve"] = transformed(result.curve, [](const CircuitFit& fit) -> Json {
    return {{"edges", fit.edges}, {"faithfulness", fit.faithfulness}};
  });
  return json;
}

Table edge_table(const CircuitResult& result, Index limit) {
  Table table({{"edge", true}, {"share", false}});
  Index shown = 0;
  for (const CircuitEdge& edge : result.edges) {
    if (edge.is_kept && (limit == 0 || shown < limit)) {
      table.add({edge_name(edge), signed_number(edge.score, 3)});
      ++shown;
    }
  }
  return table;
}

std::string text_of(const CircuitResult& result, const std::string& caution,
                    const std::string& differences, Index limit) {
  Table curve({{"edges", false}, {"faithfulness", false}});
  for (const CircuitFit& fit : result.curve) {
    curve.add({std::to_string(fit.edges), fixed_number(fit.faithfulness, 3)});
  }
  const auto number = [](double value) { return fixed_number(value, 3); };
  const std::string random =
      result.random ? "as many random edges: faithfulness " + number(result.random->mean) + " (" +
                          number(result.random->low) + " to " + number(result.random->high) + ")\n"
                    : "";
  return caution + (caution.empty() ? "" : "\n") + differences +
         "\ncircuit: " + circuit_summary(result) + "\n" + random + "\n" +
         edge_table(result, limit).text() +
         (limit > 0 && limit < result.kept
              ? concat_text("(the strongest ", limit, "; --limit 0 shows all)\n")
              : "") +
         "\n" + curve.text();
}

std::string curve_svg(const CircuitResult& result) {
  const auto edges = [](const CircuitFit& fit) {
    return std::log2(static_cast<double>(fit.edges));
  };
  const PlotSeries series{.name = "",
                          .x = transformed(result.curve, edges),
                          .y = transformed(result.curve, &CircuitFit::faithfulness),
                          .points = true};
  return line_plot_svg({.title = "Faithfulness of the strongest edges",
                        .x_label = "edges, as a power of two",
                        .y_label = "faithfulness",
                        .series = {series}});
}

void write_files(const ResultFiles& files, const CircuitResult& result, const std::string& note) {
  files.write({.svg = [&] { return circuit_svg(result, "Circuit", circuit_summary(result)); },
               .arrays = [&] { return circuit_arrays(result); },
               .page = [&] { return circuit_page(result, note); },
               .chart = [&] { return curve_svg(result); }});
}

void circuit_command(const Options& options) {
  CircuitOptions wanted = circuit_options(options);
  if (options.json()) {
    refuse_options(options, {"limit"}, "cannot be combined with --json, which has all rows");
  }
  const Index limit = count_option(options, "limit", 0);
  const ResultFiles files(options);
  const LoadedModel loaded = load_text_model(options.positional(), options);
  intervene(options, loaded);
  const std::vector<PatchingTask> tasks = pair_options(options, loaded);
  wanted.progress = progress_bar("finding the circuit");
  const CircuitResult result = find_circuit(*loaded.model, tasks, wanted);
  wanted.progress = {};
  const std::string caution = caution_of(result, tasks);
  const std::string differences = measured_differences(
      options, tasks, {result.clean_difference, result.corrupt_difference, result.pairs_done},
      *loaded.tokenizer);
  write_files(files, result, caution + (caution.empty() ? "" : ". ") + differences);
  std::cout << (options.json() ? json_line(json_of(options, result, tasks))
                               : text_of(result, caution, differences, limit));
}

}  // namespace

int run_circuit(const Words& words) { return run(circuit_options(), words, circuit_command); }

}  // namespace headlight::cli
