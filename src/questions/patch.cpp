#include <algorithm>
#include <cmath>
#include <span>

#include "base/transformed.h"
#include "headlight/interpret/effects/patch_grid.h"
#include "questions/task_parameters.h"
#include "questions/text_parameters.h"
#include "show/report/parts/interval_text.h"
#include "show/report/parts/json_output.h"
#include "show/report/patch_grid_report.h"

namespace headlight {
namespace {

constexpr std::array<std::string_view, 3> kMethods{"patch", "attribution", "both"};

constexpr const char* kDetails =
    "Activation patching: the model reads the corrupt text, and the output of one head is "
    "replaced at every position by its output on the clean text. 'recovered' is the change of "
    "the metric, from 0 (corrupt text) to 1 (clean text).\n\n"
    "Bidirectional models (BERT) predict a masked token: write one [MASK] at the same place of "
    "both texts. The answers are single tokens in its place.\n\n"
    "The shares are meaningful only if the model does the task: it must prefer the answer "
    "after the clean text and the wrong answer after the corrupt text, clearly so from a ratio "
    "of 2 on (task: none, weak or clear). Otherwise the first line says so, and the shares are "
    "marked ?.\n\n"
    "point, by, layers, positions and group choose other values: those of a point (see headlight "
    "generate --help all) are replaced by layer, by head (or neuron), by position or by group of "
    "tokens. Positions are those of the text. Without positions, the tokens of a longer answer are "
    "patched together with the text. noising patches values of the corrupt text into the clean "
    "one. method attribution estimates all parts from one gradient, as a linear approximation of "
    "patching; both also shows the correlation of the two (Pearson's r). qk_fix and grad_drop are "
    "the two parts of AtP* (Kramar et al. 2024); grad_drop loses the signs.\n\n"
    "pairs are objects {\"clean\", \"corrupt\", \"answer\", \"wrong\"}, for the command in a file "
    "of JSON Lines. Shares are then means over pairs with 95 % intervals. Texts of different "
    "lengths can be compared by groups of tokens of the clean text, given in each pair or for all "
    "by group end=last:\n"
    "  \"groups\": {\"name\": \"Mary\", \"again\": \"Mary#2\", \"verb\": [4, 5], \"end\": "
    "\"last\"}\n"
    "Mary#2 is the second occurrence; numbers are positions. by group compares groups.\n\n"
    "The arrays are recovered, difference and attribution [R, K] ([R] by layer), for pairs also "
    "their _low and _high. The axes are lists of names: layer, head, position, group.";

// Parts of a grid; "" for the default of the point.
std::string parts_of(const Arguments& arguments) {
  return arguments.given("by")                                       ? arguments.text("by")
         : arguments.given("group") && !arguments.given("positions") ? "group"
                                                                     : "";
}

PatchGridOptions grid_options(const Asker& asker, const Arguments& arguments) {
  const PointRange point = parse_point("point", arguments.text("point"));
  require_value(!point.items, "point", "expected a whole point, such as z or z.3, got ",
                arguments.text("point"));
  const std::string method = arguments.text("method");
  PatchGridOptions options{
      .point = point.point,
      .layers = arguments.given("layers") ? arguments.range("layers") : point.layers,
      .positions = arguments.range("positions"),
      .noising = arguments.flag("noising"),
      .patch = method != "attribution",
      .attribution = method != "patch",
      .fix_pattern = arguments.flag("qk_fix"),
      .drop_gradients = arguments.flag("grad_drop"),
      .progress = asker.progress};
  set_parts(options, parts_of(arguments));
  require_value(options.by_group || !arguments.given("group"), "group", "needs by group");
  return options;
}

Index cost_of(const Asker& asker, const Arguments& arguments, const PatchGridOptions& options,
              const std::vector<PatchingTask>& tasks) {
  Index tokens = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto groups = std::ssize(arguments.texts("group"));
    if (arguments.given("pairs")) {
      groups += static_cast<Index>(arguments.value("pairs")[i].value("groups", {}).size());
    }
    const Index answer = std::max<Index>(std::ssize(tasks[i].answer), 1);  // its last is not read
    const Index length = std::ssize(tasks[i].clean) + answer - 1;
    tokens += patch_grid_tokens(asker.model, length, options, groups);
  }
  return tokens;
}

const char* strength_name(TaskStrength strength) {
  return strength == TaskStrength::none   ? "none"
         : strength == TaskStrength::weak ? "weak"
                                          : "clear";
}

TaskStrength strength_of(const PatchGrid& pair) {
  return task_strength(pair.clean_difference, pair.corrupt_difference);
}

TaskMeans means_of(const PatchStudy& study) {
  TaskMeans means;
  const auto count = static_cast<double>(study.pairs.size());
  for (const PatchGrid& pair : study.pairs) {
    means.pairs_done += strength_of(pair) == TaskStrength::clear ? 1 : 0;
    means.clean += pair.clean_difference / count;
    means.corrupt += pair.corrupt_difference / count;
  }
  return means;
}

std::string caution_of(const PatchStudy& study, const TaskReport& report) {
  const auto pairs = std::ssize(study.pairs);
  if (report.has_own_metric()) {
    return pairs == 1 ? "" : few_documents_caution(pairs);
  }
  if (pairs == 1) {
    const PatchingTask& task = report.tasks.front();
    const PatchGrid& pair = study.pairs.front();
    return patching_caution(pair.clean_difference, pair.corrupt_difference,
                            answer_label(task.answer, report.asker.tokenizer),
                            answer_label(task.wrong, report.asker.tokenizer));
  }
  if (2 * report.means.pairs_done < pairs) {
    return concat_text("caution: the model does this task clearly in ", report.means.pairs_done,
                       " of ", pairs, " pairs: the shares may be chance");
  }
  return few_documents_caution(pairs);
}

Json cell_json(const MeanPatchCell& mean, const PatchGridReport& report) {
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

Json next_json(const NextToken& next, const Tokenizer& tokenizer) {
  Json json = token_json(next.id, tokenizer);
  json["probability"] = next.probability;
  return json;
}

// Adds the facts about a single pair of texts.
void add_pair(const PatchGrid& pair, const TaskReport& report, Json& facts) {
  const Tokenizer& tokenizer = report.asker.tokenizer;
  const PatchingTask& task = report.tasks.front();
  facts["task"] = report.has_own_metric() ? Json() : Json(strength_name(strength_of(pair)));
  facts["clean_next"] = next_json(pair.clean_next, tokenizer);
  facts["corrupt_next"] = next_json(pair.corrupt_next, tokenizer);
  facts["answer"] = answer_json(task.answer, tokenizer);
  facts["wrong"] = answer_json(task.wrong, tokenizer);
}

double shown_value(const MeanPatchCell& mean, const PatchGridOptions& options) {
  return std::abs(options.patch ? mean.cell.recovered : mean.cell.attribution);
}

void add_table(const PatchGridReport& report, bool is_doubtful, QuestionResult& result) {
  const PatchGridOptions& options = report.options;
  const std::vector<PatchMeasure> measures = patch_measures(options);
  std::vector<Table::Column> columns{
      {options.noising ? "corrupt in clean" : "clean in corrupt", true}};
  for (const PatchMeasure& measure : measures) {
    columns.push_back({measure.name});
  }
  Table table(std::move(columns), true);
  std::vector<MeanPatchCell> cells = report.study.cells;
  std::ranges::stable_sort(cells, std::ranges::greater(),
                           [&](const MeanPatchCell& mean) { return shown_value(mean, options); });
  for (const MeanPatchCell& cell : cells) {
    std::vector<std::string> line{report.cell_name(cell.cell)};
    for (const PatchMeasure& measure : measures) {
      line.push_back(interval_text(cell.*measure.value, report.is_one()) +
                     (is_doubtful ? " ?" : ""));
    }
    table.add(std::move(line));
  }
  result.tables.push_back(std::move(table));
}

// Label and probability of a token, as "' Anna' (0.93)".
std::string next_text(const NextToken& next, const Tokenizer& tokenizer) {
  return quoted_label(next.id, tokenizer) + " (" + fixed_number(next.probability, 2) + ")";
}

std::string heading_of(const PatchStudy& study, const TaskReport& report) {
  const std::string differences = report.differences_text() + "\n";
  if (!report.is_one()) {
    return differences;
  }
  const PatchGrid& pair = study.pairs.front();
  const Tokenizer& tokenizer = report.asker.tokenizer;
  return concat_text(differences, "likeliest ", report.tasks.front().mask ? "masked" : "next",
                     " token: clean ", next_text(pair.clean_next, tokenizer), ", corrupt ",
                     next_text(pair.corrupt_next, tokenizer), "\n");
}

Json patch_facts(const PatchGridOptions& options, const PatchStudy& study, const TaskReport& report,
                 const std::string& caution) {
  Json facts{{"point", name_of(options.point)},
             {"by", parts_name(options)},
             {"method", report.arguments.text("method")},
             {"noising", options.noising},
             {"metric", report.metric_name()},
             {"pairs", study.pairs.size()},
             {"pairs_done", report.pairs_done()},
             {"caution", text_or_null(caution)},
             {"clean_difference", report.means.clean},
             {"corrupt_difference", report.means.corrupt},
             {"correlation", study.correlation}};
  if (report.is_one()) {
    add_pair(study.pairs.front(), report, facts);
  }
  return facts;
}

QuestionResult grid_result(const TaskReport& report, const PatchGridOptions& options,
                           const PatchStudy& study) {
  const PatchGridReport cells{options, study, report.tasks, report.asker.tokenizer};
  const std::string caution = caution_of(study, report);
  QuestionResult result{.title = "Difference carried by " + std::string(name_of(options.point)),
                        .caution = caution,
                        .heading = heading_of(study, report),
                        .facts = patch_facts(options, study, report, caution)};
  result.rows = [rows = json_list(study.cells, [&](const MeanPatchCell& mean) {
                   return cell_json(mean, cells);
                 })] { return rows; };
  if (!report.asker.shows) {
    return result;
  }
  const bool is_undone =
      !report.has_own_metric() && 2 * report.means.pairs_done < std::ssize(study.pairs);
  result.grids = patch_study_grids(cells, is_undone);
  add_table(cells, !caution.empty(), result);
  if (options.patch && options.attribution) {
    result.footing = concat_text(
        "\nattribution agrees with patching with r = ", fixed_number(study.correlation, 3),
        " over ", study.cells.size(), " parts\n");
    result.chart = [plot = patch_scatter(cells)] { return scatter_plot_svg(plot); };
  }
  return result;
}

QuestionResult patch(const Asker& asker, const Arguments& arguments) {
  const PatchGridOptions options = grid_options(asker, arguments);
  const std::vector<PatchingTask> tasks = read_tasks(
      asker, arguments, [&](const auto& read) { return cost_of(asker, arguments, options, read); },
      options.by_group);
  const PatchStudy study = patch_pairs(asker.model, tasks, options);
  return grid_result({asker, arguments, tasks, means_of(study)}, options, study);
}

std::vector<Parameter> parameters() {
  return with(
      task_parameters(),
      {point_parameter(Point::z, choices_of<Point>()),
       by_parameter({kPatchParts.begin(), kPatchParts.end()}),
       layers_parameter(),
       positions_parameter(),
       group_parameter(),
       {.name = "method",
        .help = "Patch the values, estimate the effect from a gradient, or both",
        .kind = ValueKind::name,
        .fallback = "patch",
        .choices = {kMethods.begin(), kMethods.end()}},
       {.name = "qk_fix",
        .help = "Attribution: compute the attention weights of patched q, k, rot_q and rot_k, for "
                "attention that saturates (AtP*)",
        .kind = ValueKind::flag},
       {.name = "grad_drop",
        .help = "Attribution: average absolute effects over passes without the paths through each "
                "layer, for effects that cancel (AtP*)",
        .kind = ValueKind::flag},
       {.name = "noising",
        .help = "Patch values of the corrupt text into the clean one",
        .kind = ValueKind::flag}});
}

}  // namespace

const Question& patch_question() {
  static const Question question{
      .name = "patch",
      .summary = "Find the heads that carry the difference between two texts.",
      .details = kDetails + std::string("\n\n") + kTaskDetails,
      .examples = {"headlight patch runs/toy " + kExamplePair,
                   "headlight patch runs/toy --pairs pairs.jsonl --point resid_pre --by position "
                   "--method both --svg stream.svg",
                   "headlight patch runs/toy --pairs pairs.jsonl --point resid_pre --group "
                   "end=last --html stream.html"},
      .parameters = parameters(),
      .facts = {{"point, by, method, noising", "what was patched"},
                {"metric", "logit_difference, log_probability_difference or that of metric"},
                {"pairs, pairs_done",
                 "number of pairs, and of those with a clear task (null with "
                 "another metric)"},
                {"caution", "null: the task is clear"},
                {"clean_difference, corrupt_difference", "the metric after both texts, means"},
                {"correlation", "of attribution and patching; null unless method is both"},
                {"task", "of a single pair: none, weak or clear (null with another metric)"},
                {"clean_next, corrupt_next",
                 "{id, token, probability}, the most probable token "
                 "after each text of a single pair"},
                {"answer, wrong", "{id, ids, token} of a single pair (id: of a single token)"}},
      .rows = "cells",
      .columns = {{"layer, item, position, group", "the part; item is a head or neuron"},
                  {"token", "at the position, for a single pair"},
                  {"difference", "the metric with the part patched"},
                  {"recovered, recovered_low, recovered_high",
                   "0: as the unpatched text, 1: as "
                   "the other one"},
                  {"attribution, attribution_low, attribution_high", "the estimate of recovered"}},
      .chart = "scatter",
      .chart_help = "Draw attribution against patching to this .svg file (method both)",
      .chart_needs = "method=both",
      .former = {{"path", "is now headlight paths --sender 0.1 --receiver 1.0.k"}},
      .reads_masked_models = true,
      .urgency = Urgency::requested,
      .positional = {"clean", "corrupt", "answer", "wrong"},
      .answer = patch};
  return question;
}

}  // namespace headlight
