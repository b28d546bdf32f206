#include "base/transformed.h"
#include "headlight/interpret/effects/patch_grid.h"
#include "headlight/show/plot/scatter_plot.h"
#include "questions/task_parameters.h"
#include "questions/text_parameters.h"
#include "show/report/parts/interval_text.h"
#include "show/report/parts/json_output.h"

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
      .memory = memory_of(arguments),
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
    tokens += patch_grid_tokens(asker.model, tasks[i], options, groups);
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
  if (report.is_one()) {
    const PatchingTask& task = report.tasks.front();
    return report.has_own_metric()
               ? ""
               : patching_caution(study.pairs.front().clean_difference,
                                  study.pairs.front().corrupt_difference,
                                  answer_label(task.answer, report.asker.tokenizer),
                                  answer_label(task.wrong, report.asker.tokenizer));
  }
  return report.is_mostly_done() ? few_documents_caution(std::ssize(study.pairs))
                                 : report.pairs_caution() + ": the shares may be chance";
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

// Returns the label of each token of the patched text, that of its whole character; nothing for
// several pairs.
std::vector<std::string> token_labels(const TaskReport& report, const PatchGridOptions& options) {
  std::vector<std::string> labels;
  if (report.is_one()) {
    const auto& text = options.noising ? report.tasks[0].clean : report.tasks[0].corrupt;
    for (const TokenCell& cell : character_cells(text, report.asker.tokenizer)) {
      labels.resize(static_cast<std::size_t>(cell.end),
                    shown_cell(cell, text, report.asker.tokenizer));
    }
  }
  return labels;
}

// Columns about the parts that the cells patch.
std::vector<ResultColumn> part_columns(const std::vector<MeanPatchCell>& cells,
                                       const PatchGridOptions& options, const TaskReport& report) {
  const std::vector<std::string> tokens = token_labels(report, options);
  const auto token = [&](const PatchCell& cell) {
    return cell.position && !tokens.empty() ? tokens[static_cast<std::size_t>(*cell.position)] : "";
  };
  const auto place = [&](const PatchCell& cell) {  // "5 the" or the group
    const std::string text = token(cell);
    return cell.group || !cell.position
               ? cell.group.value_or("")
               : std::to_string(*cell.position) + (text.empty() ? "" : " " + text);
  };
  const auto row = [](const PatchCell& cell) {
    return std::to_string(cell.layer) + (cell.item ? "." + std::to_string(*cell.item) : "");
  };
  const auto name = [&](const PatchCell& cell) {  // "z.3.1 @5 the"
    return concat_text(name_of(options.point), ".", row(cell), place(cell).empty() ? "" : " @",
                       place(cell));
  };
  const std::vector<PatchCell> parts = transformed(cells, &MeanPatchCell::cell);
  const ColumnsOf of_parts{parts};
  std::vector<ResultColumn> columns{
      of_parts.hidden("part", name, options.noising ? "corrupt in clean" : "clean in corrupt"),
      of_parts.hidden("row", row),
      of_parts.hidden("place", place),
      of_parts("layer", &PatchCell::layer),
      of_parts("item", &PatchCell::item),
      of_parts("position", &PatchCell::position)};
  if (options.by_group) {
    columns.push_back(of_parts("group", place));
  }
  if (options.by_position && report.is_one()) {
    columns.push_back(of_parts("token", token));
  }
  return columns;
}

// Returns the cells in layers by heads, or with positions in layers, or heads if they are separate,
// by positions. `is_doubtful`: of the text.
ResultTable cell_table(const PatchStudy& study, const PatchGridOptions& options,
                       const TaskReport& report, bool is_doubtful) {
  ResultTable table{.columns = part_columns(study.cells, options, report),
                    .ranking = Ranking::size,
                    .ranked_by = options.patch ? "recovered" : "attribution"};
  const bool has_places = options.by_position || options.by_group;
  ResultView view{.rows = {.title = has_places && options.by_item ? "head" : "layer",
                           .column = has_places ? "row" : "layer"}};
  if (has_places) {
    view.columns = {.title = options.by_position ? "position" : "group", .column = "place"};
  } else if (options.by_item) {
    view.columns = {.title = "head", .column = "item", .from_zero = true};
  }
  view.has_ends = !report.is_one();
  const ColumnsOf of_cells{study.cells};
  const auto add = [&](ResultColumn column, const std::string& title, double limit) {
    column.is_doubtful = is_doubtful;
    view.name = view.column = column.name;
    view.title = title;
    view.limit = limit;
    table.views.push_back(view);
    table.columns.push_back(std::move(column));
  };
  const std::string point(name_of(options.point));
  if (options.patch) {
    add(of_cells("recovered", &MeanPatchCell::recovered, "recovered"), "Recovered by " + point, 1);
  }
  if (options.attribution) {
    add(of_cells("attribution", &MeanPatchCell::attribution, "attribution"),
        "Attributed by " + point, 1);
  }
  if (options.patch) {
    add(of_cells("difference", [](const auto& mean) { return mean.cell.difference; }),
        "Difference with each part patched", 0);
  }
  return table;
}

ScatterPlot scatter_of(const PatchStudy& study, const std::vector<std::string>& names) {
  ScatterPlot plot{.title = "Attribution against patching",
                   .x_label = "attributed (gradient)",
                   .y_label = "recovered (patched)",
                   .has_diagonal = true};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const MeanPatchCell& mean = study.cells[i];
    plot.points.push_back({names[i], mean.attribution.mean, mean.recovered.mean});
  }
  return plot;
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

Json patch_facts(const PatchGridOptions& options, const PatchStudy& study,
                 const TaskReport& report) {
  Json facts{{"point", name_of(options.point)},
             {"by", parts_name(options)},
             {"method", report.arguments.text("method")},
             {"noising", options.noising},
             {"correlation", study.correlation}};
  facts.update(report.facts());
  if (report.is_one()) {
    add_pair(study.pairs.front(), report, facts);
  }
  return facts;
}

QuestionResult grid_result(const TaskReport& report, const PatchGridOptions& options,
                           const PatchStudy& study) {
  const std::string caution = caution_of(study, report);
  QuestionResult result{
      .title = "Difference carried by " + std::string(name_of(options.point)),
      .caution = caution,
      .heading = heading_of(study, report),
      .facts = patch_facts(options, study, report),
      .tables = {cell_table(study, options, report, !caution.empty())},
      .note = report.is_mostly_done() ? "" : "The model does not do this task clearly"};
  if (options.patch && options.attribution) {
    result.footing = concat_text(
        "\nattribution agrees with patching with r = ", fixed_number(study.correlation, 3),
        " over ", study.cells.size(), " parts\n");
    const auto& names =
        std::get<std::vector<std::string>>(result.tables.front().columns.front().values);
    result.chart = [plot = scatter_of(study, names)] { return scatter_plot_svg(plot); };
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
       method_parameter({kMethods.begin(), kMethods.end()}, "patch"),
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
        .kind = ValueKind::flag},
       memory_parameter()});
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
