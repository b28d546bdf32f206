#include <algorithm>
#include <cmath>

#include "base/transformed.h"
#include "headlight/interpret/circuit/circuit.h"
#include "headlight/show/plot/circuit_plot.h"
#include "headlight/show/plot/line_plot.h"
#include "questions/task_parameters.h"
#include "questions/text_parameters.h"
#include "show/report/parts/interval_text.h"
#include "show/report/parts/json_output.h"

namespace headlight {
namespace {

constexpr const char* kCircuitDetails =
    "Finds the connections between heads and MLPs that the model uses to distinguish two "
    "texts. Every edge from a writer (embed, heads, MLPs) to a reader (query, key and value of "
    "heads, MLPs, logits) is scored by edge attribution patching with integrated gradients. "
    "The score is the share of the difference in the metric that the edge carries. With steps 1 "
    "the gradients are those of the clean text.\n\n"
    "ranking mask learns a mask from 0 to 1 for every edge instead: the share of the writer's "
    "change between the texts that the reader sees. The masks learn on the frozen model to keep "
    "the metric of the clean text while a growing penalty closes edges; the score is the mask. "
    "steps is then the number of steps of learning, 100 instead of 5 if it is not given: much "
    "slower. Circuits of some dozens of edges are often more faithful to these pairs; check them "
    "on others. Post-norm models are refused.\n\n"
    "The strongest edges are kept: edges of them, or as many as reach faithfulness, "
    "without edges that lead nowhere. A run checks them: the model reads the clean text, and "
    "all other edges carry their values on the corrupt one. A faithfulness of 1 gives the "
    "whole model's difference, 0 the corrupt text's.\n\n"
    "A name such as 3.0-2 is the key or value shared by heads 0 to 2 of layer 3. If a norm "
    "follows a part, or the stream it writes to, an edge carries the output of that norm.\n\n"
    "The figure is the graph. Several pairs give a circuit of the task instead of one text. The "
    "circuit depends on the metric and on the difference between the texts: parts that both texts "
    "use alike are not in it.\n\n"
    "The arrays are, for every edge of the model, the strongest first, score, kept (1 or 0) and "
    "the names from, to and into [E]; and curve_edges and curve_faithfulness [N]; "
    "and pair_clean, pair_corrupt, pair_cut and pair_circuit [P].\n\n"
    "A circuit is saved by --json and read again: circuit measures it on other pairs, another "
    "metric or with other values of cut edges, and draws it; other compares it with the one that "
    "is found or measured. Edges are {\"from\", \"to\", \"into\", \"score\"}; only the scores' "
    "order counts. Edges that lead nowhere are left out, with a warning; a circuit without a path "
    "from embed to logits is refused. measures has the metric of each pair after both texts, with "
    "all edges cut (cut), and with all but the circuit's cut (circuit).\n\n"
    "ablation mean and resample need pairs with texts of one length. random_sets shows whether "
    "the faithfulness is more than any edges of that number give.";

constexpr const char* kExampleEdge =
    "{\"from\": \"0.1\", \"to\": \"1.0\", \"into\": \"k\", \"score\": 0.5}";

// Reads the edges of a circuit, as answers have them.
std::vector<NamedEdge> read_edges(const Arguments& arguments, const char* name) {
  std::vector<NamedEdge> edges;
  if (!arguments.given(name)) {
    return edges;
  }
  for (const Json& edge : arguments.value(name)) {
    const Json from = edge.value("from", {});
    const Json to = edge.value("to", {});
    const Json into = edge.value("into", {});
    const Json score = edge.value("score", 0);
    require_value(from.is_string() && to.is_string() && (into.is_null() || into.is_string()) &&
                      score.is_number(),
                  name, "expected edges such as ", kExampleEdge, ", got ", edge.dump());
    edges.push_back({from.text() + ">" + to.text() + (into.is_null() ? "" : "." + into.text()),
                     score.number()});
  }
  require_value(!edges.empty(), name, "expected at least one edge");
  return edges;
}

CircuitOptions read_options(const Asker& asker, const Arguments& arguments) {
  return {
      .ranking = arguments.chosen<CircuitRanking>("ranking"),
      .steps = arguments.given("steps") ? std::optional(arguments.integer("steps")) : std::nullopt,
      .edges = arguments.integer("edges"),
      .faithfulness = arguments.given("faithfulness")
                          ? std::optional(arguments.number("faithfulness"))
                          : std::nullopt,
      .ablation = arguments.chosen<CircuitAblation>("ablation"),
      .random_sets = arguments.integer("random_sets"),
      .seed = static_cast<std::uint64_t>(arguments.integer("seed")),
      .given = read_edges(arguments, "circuit"),
      .other = read_edges(arguments, "other"),
      .memory = memory_of(arguments),
      .progress = asker.progress};
}

// Passes over both texts, the gradients at each step, and the runs of the curve and of random
// edges, about a dozen. A run that cuts edges reads every sender's value.
Index cost_of(const CircuitOptions& options, const std::vector<PatchingTask>& tasks) {
  Index tokens = 0;
  for (const PatchingTask& task : tasks) {
    tokens += std::ssize(task.clean) * (2 + 3 * options.used_steps() + 12 + options.random_sets);
  }
  return tokens;
}

std::string caution_of(const TaskReport& report) {
  return !report.has_own_metric() && report.means.pairs_done == 0
             ? "caution: the model does not do this task clearly: the circuit may be chance"
             : report.pairs_caution();
}

std::string circuit_summary(const CircuitResult& result) {
  return concat_text(result.kept, " of ", result.edges.size(), " edges, faithfulness ",
                     fixed_number(result.faithfulness, 2));
}

std::string input_name(const CircuitEdge& edge) {
  return std::string(edge.into ? name_of(*edge.into) : "");
}

ResultTable edge_table(const std::vector<CircuitEdge>& edges) {
  const ColumnsOf of_edges{edges};
  const auto from = [](const CircuitEdge& edge) { return node_name(edge.from); };
  const auto to = [](const CircuitEdge& edge) { return node_name(edge.to); };
  const auto reader = [&](const CircuitEdge& edge) {
    return to(edge) + (edge.into ? "." + input_name(edge) : "");
  };
  return {.columns = {of_edges("from", from), of_edges("to", to), of_edges("into", input_name),
                      of_edges.hidden("edge", edge_name, "edge"), of_edges.hidden("reader", reader),
                      of_edges("score", &CircuitEdge::score, "share"),
                      of_edges("kept", &CircuitEdge::is_kept, "", ColumnUse::arrays)},
          .views = {{"share",
                     "score",
                     "Share of each edge",
                     {.title = "reader", .column = "reader"},
                     {.title = "writer", .column = "from"}}},
          .ranking = Ranking::size,
          .ranked_by = "score"};
}

ResultTable curve_table(const CircuitResult& result) {
  const ColumnsOf of_points{result.curve};
  const ResultAxis edges{.title = "edges", .column = "edges"};
  return {
      .key = "curve",
      .columns = {of_points("edges", &CircuitFit::edges, "edges"),
                  of_points("faithfulness", &CircuitFit::faithfulness, "faithfulness")
                      .as(NumberForm::plain, 3)},
      .views = {
          {"faithfulness", "faithfulness", "Faithfulness of the strongest edges", edges, {}, 1}}};
}

ResultTable pair_table(const CircuitResult& result) {
  const ColumnsOf of_pairs{result.pairs};
  return {.key = "measures",
          .columns = {of_pairs("clean", &CircuitPairValues::clean),
                      of_pairs("corrupt", &CircuitPairValues::corrupt),
                      of_pairs("cut", &CircuitPairValues::cut),
                      of_pairs("circuit", &CircuitPairValues::circuit)}};
}

Json overlap_json(const CircuitOverlap& other) {
  return {{"edges", other.edges},
          {"shared", other.shared},
          {"chance", other.chance},
          {"jaccard", other.jaccard},
          {"faithfulness", other.faithfulness}};
}

std::string overlap_text(const CircuitOverlap& other) {
  return concat_text("the other circuit: ", other.edges, " edges, ", other.shared,
                     " of them in both (by chance ", fixed_number(other.chance, 1), "; Jaccard ",
                     fixed_number(other.jaccard, 2), "), faithfulness ",
                     fixed_number(other.faithfulness, 2), "\n");
}

Json facts_of(const CircuitResult& result, const TaskReport& report) {
  Json facts = report.facts();
  facts.update({{"edges", result.edges.size()},
                {"kept", result.kept},
                {"faithfulness", result.faithfulness},
                {"ablation", report.arguments.text("ablation")},
                {"random", result.random ? interval_json(*result.random) : Json()},
                {"other", result.other ? overlap_json(*result.other) : Json()}});
  return facts;
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

// Returns a warning about a given circuit of which some edges lead nowhere; "": none do.
std::string dead_ends_text(std::string_view name, std::size_t edges, Index useful) {
  const Index dead = static_cast<Index>(edges) - useful;
  return dead > 0 ? concat_text(name, ": ", dead, " of ", edges,
                                " edges lead nowhere and are left out; the others are measured")
                  : "";
}

std::vector<std::string> warnings_of(const CircuitResult& result, const CircuitOptions& options,
                                     const std::string& prefix) {
  std::vector<std::string> warnings;
  if (!options.given.empty()) {
    const std::size_t most =
        options.edges > 0 ? static_cast<std::size_t>(options.edges) : options.given.size();
    warnings.push_back(
        dead_ends_text(prefix + "circuit", std::min(most, options.given.size()), result.kept));
  }
  if (result.other) {
    warnings.push_back(dead_ends_text(prefix + "other", options.other.size(), result.other->edges));
  }
  std::erase(warnings, "");
  return warnings;
}

std::string heading_of(const CircuitResult& result, const TaskReport& report) {
  const auto number = [](double value) { return fixed_number(value, 3); };
  return report.differences_text() + "\ncircuit: " + circuit_summary(result) + "\n" +
         (result.random
              ? "as many random edges: faithfulness " + number(result.random->mean) + " (" +
                    number(result.random->low) + " to " + number(result.random->high) + ")\n"
              : "") +
         (result.other ? overlap_text(*result.other) : "");
}

QuestionResult circuit(const Asker& asker, const Arguments& arguments) {
  const CircuitOptions options = read_options(asker, arguments);
  const std::vector<PatchingTask> tasks =
      read_tasks(asker, arguments, [&](const auto& read) { return cost_of(options, read); });
  const CircuitResult found = find_circuit(asker.model, tasks, options);
  const TaskReport report{asker,
                          arguments,
                          tasks,
                          {found.clean_difference, found.corrupt_difference, found.pairs_done}};
  QuestionResult result{.title = "Circuit: " + circuit_summary(found),
                        .caution = caution_of(report),
                        .heading = heading_of(found, report),
                        .facts = facts_of(found, report),
                        .warnings = warnings_of(found, options, arguments.prefix())};
  std::vector<CircuitEdge> kept;
  std::ranges::copy_if(found.edges, std::back_inserter(kept), &CircuitEdge::is_kept);
  result.tables = {edge_table(kept), curve_table(found), pair_table(found)};
  add_arrays(edge_table(found.edges), "", result.arrays);
  add_arrays(curve_table(found), "curve_", result.arrays);
  add_arrays(pair_table(found), "pair_", result.arrays);
  if (found.kept == 0) {
    result.tables[1].views.clear();
  } else {
    result.graph = [found] { return circuit_svg(found, "Circuit", circuit_summary(found)); };
  }
  result.chart = [found] { return curve_svg(found); };
  return result;
}

std::vector<Parameter> parameters_of_circuit() {
  return with(
      task_parameters(),
      {{.name = "edges",
        .help = "Keep at most this number of edges; 0: as many as faithfulness needs",
        .kind = ValueKind::integer,
        .fallback = 0,
        .is_basic = true},
       {.name = "faithfulness",
        .help = "Keep the fewest edges whose circuit reaches this faithfulness (above 0 to 1; "
                "default: 0.8)",
        .kind = ValueKind::number,
        .is_basic = true},
       {.name = "ranking",
        .help = "Order edges by attribution, or by a mask that is learned for each",
        .kind = ValueKind::name,
        .fallback = name_of(CircuitRanking::attribution),
        .choices = choices_of<CircuitRanking>()},
       {.name = "steps",
        .help = "Number of points of the integrated gradients",
        .kind = ValueKind::integer,
        .excludes = {"circuit"}},
       {.name = "ablation",
        .help = "Values of cut edges: of the pair's corrupt text, its mean over all corrupt texts "
                "by position, or that of the next pair",
        .kind = ValueKind::name,
        .fallback = name_of(CircuitAblation::corrupt),
        .choices = choices_of<CircuitAblation>()},
       {.name = "random_sets",
        .help = "Compare with N sets of as many random edges; 0: none",
        .kind = ValueKind::integer,
        .fallback = 0},
       seed_parameter({"random_sets"}),
       {.name = "circuit",
        .help = "Measure this circuit, saved by --json, instead of finding one",
        .kind = ValueKind::records,
        .excludes = {"faithfulness"},
        .example = kExampleEdge},
       {.name = "other",
        .help = "Compare with this circuit: the edges of both, and its faithfulness here",
        .kind = ValueKind::records,
        .example = kExampleEdge},
       memory_parameter()});
}

}  // namespace

const Question& circuit_question() {
  static const Question question{
      .name = "circuit",
      .summary = "Find the connections between heads and MLPs that a task uses.",
      .details = kCircuitDetails + std::string("\n\n") + kTaskDetails,
      .examples = {"headlight circuit runs/toy " + kExamplePair + " --svg circuit.svg",
                   "headlight circuit runs/toy --pairs pairs.jsonl --edges 40 --curve curve.svg",
                   "headlight circuit runs/toy --pairs held_out.jsonl --circuit circuit.json "
                   "--ablation resample"},
      .parameters = parameters_of_circuit(),
      .facts = {{"metric", "logit_difference, log_probability_difference or that of metric"},
                {"pairs, pairs_done",
                 "number of pairs, and of those with a clear task (null with "
                 "another metric)"},
                {"caution", "null: the task is clear"},
                {"clean_difference, corrupt_difference", "the metric after both texts, means"},
                {"edges, kept", "numbers of edges in the model and in the circuit"},
                {"faithfulness", "of the circuit"},
                {"ablation", "values of cut edges"},
                {"random", "{mean, low, high} of random edges; null without random_sets"},
                {"other",
                 "{edges, shared, chance, jaccard, faithfulness} of the other circuit; null "
                 "without one"},
                {"curve", "[{edges, faithfulness}]"},
                {"measures", "[{clean, corrupt, cut, circuit}], of each pair"}},
      .rows = "circuit",
      .columns = {{"from, to, into", "the edge; into is q, k or v of a head"},
                  {"score", "share of the difference, or the edge's mask"}},
      .chart = "curve",
      .chart_help = "Draw faithfulness against the number of edges to this .svg file",
      .positional = {"pairs"},
      .answer = circuit};
  return question;
}

}  // namespace headlight
