#include "headlight/interpret/effects/saliency.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/transformed.h"
#include "questions/task_parameters.h"
#include "questions/text_parameters.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/token_columns.h"

namespace headlight {
namespace {

constexpr const char* kSaliencyDetails =
    "Attributes a metric to the tokens of the text. A text is read from a baseline on: "
    "embeddings of zeros, or those of a corrupt text with as many tokens.\n\n"
    "  gradient              length of the gradient at a token's embedding; has no sign\n"
    "  gradient_x_input      gradient times the embedding minus its baseline\n"
    "  integrated_gradients  the same with the mean gradient between baseline and text\n"
    "  occlusion             fall of the metric if the token has its baseline\n\n"
    "Integrated gradients (Sundararajan et al. 2017) sum to the metric after the text minus "
    "that of the baseline, but for delta. More steps make it smaller, but with zeros not in every "
    "model: norms magnify the tiny embeddings next to them, where the metric leaps. Then a corrupt "
    "text is the better baseline, or occlusion the better method. Positions keep their own "
    "embeddings.\n\n"
    "Without answer, it is the most probable next token. Without wrong and corrupt, the metric "
    "logit_difference is the logit of the answer, a single token; with both answers it is their "
    "contrast. pairs are those of headlight patch; the clean texts are attributed.\n\n"
    "The page (--html) has the texts in the colours of their tokens: blue raises the metric, "
    "orange lowers it. The arrays are text, position, id and attribution [R].";

// The text of the arguments without pairs. A missing corrupt text is the text itself.
PatchingTask saliency_task(const Asker& asker, const Arguments& arguments, const TaskCost& cost) {
  const auto kind = arguments.chosen<MetricKind>("metric");
  check_answers(kind, arguments.given("answer"), arguments.given("wrong"));
  PatchingTask task{.clean = read_prompt(asker, arguments.value("text"), "text"),
                    .corrupt = {},
                    .answer = read_answer(asker, arguments, "answer"),
                    .wrong = read_answer(asker, arguments, "wrong")};
  const bool has_corrupt = arguments.given("corrupt");
  task.corrupt =
      has_corrupt ? read_prompt(asker, arguments.value("corrupt"), "corrupt") : task.clean;
  const bool is_contrast =
      has_corrupt || !task.wrong.empty() || kind != MetricKind::logit_difference;
  const Index one_pass = task.answer.empty() ? std::ssize(task.clean) : 0;
  asker.begin(cost({task}) + (is_contrast ? completing_tokens(asker, {task}, kind) : one_pass));
  if (asker.metric) {
    set_mask(task, asker.model, asker.tokenizer);
    task.metric = asker.metric;
  } else if (is_contrast) {
    complete_task(task, kind, asker.model, asker.tokenizer, asker.kept);
  } else {
    set_mask(task, asker.model, asker.tokenizer);
    if (task.answer.empty()) {
      task.answer = {likeliest_next(asker.model, task.clean, task.mask, asker.kept)};
    }
    task.metric = logit_metric(only_id(task.answer, "answer"), task.mask.value_or(-1));
  }
  return task;
}

SaliencyOptions saliency_options(const Asker& asker, const Arguments& arguments) {
  const bool has_corrupt = arguments.given("corrupt") || arguments.given("pairs");
  const auto baseline = arguments.given("baseline") ? arguments.chosen<SaliencyBaseline>("baseline")
                        : has_corrupt               ? SaliencyBaseline::corrupt
                                                    : SaliencyBaseline::zero;
  require_value(has_corrupt || baseline == SaliencyBaseline::zero, "baseline",
                "corrupt needs a corrupt text");
  return {.method = arguments.chosen<SaliencyMethod>("method"),
          .baseline = baseline,
          .steps = arguments.integer("steps"),
          .memory = memory_of(arguments),
          .progress = asker.progress,
          .kept = asker.kept};
}

// Passes of a text; one with gradients costs three.
Index passes_of(const SaliencyOptions& options, Index length) {
  switch (options.method) {
    case SaliencyMethod::occlusion:
      return 1 + length;
    case SaliencyMethod::integrated_gradients:
      return 2 + 3 * options.steps;
    default:
      return 3;
  }
}

struct SaliencyReport {
  const Asker& asker;
  SaliencyOptions options;
  std::string metric;
  std::vector<PatchingTask> tasks;
  std::vector<Saliency> results;  // of the tasks

  bool is_one() const { return tasks.size() == 1; }
};

ResultTable texts_table(const SaliencyReport& report) {
  const ColumnsOf of_texts{report.results};
  const auto sum = [](const Saliency& text) {
    return std::accumulate(text.tokens.begin(), text.tokens.end(), 0.0);
  };
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  ResultTable table{
      .key = "texts",
      .columns = {of_texts("metric", &Saliency::metric), of_texts("sum", sum),
                  of_texts("baseline", [&](const auto& text) { return number(text.baseline); }),
                  of_texts("delta", [&](const auto& text) { return number(text.delta); })}};
  if (!report.asker.metric) {
    const ColumnsOf of_tasks{report.tasks};
    table.columns.push_back(of_tasks("answer", [&](const PatchingTask& task) {
      return answer_json(task.answer, report.asker.tokenizer);
    }));
  }
  return table;
}

// Returns one line for each text: the metric, and how well the attributions sum to it.
std::string heading_of(const SaliencyReport& report) {
  std::string lines;
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    const Saliency& text = report.results[i];
    const PatchingTask& task = report.tasks[i];
    const Tokenizer& tokenizer = report.asker.tokenizer;
    const auto quoted = [&](const auto& ids) { return "'" + answer_label(ids, tokenizer) + "'"; };
    lines +=
        concat_text(report.is_one() ? "" : concat_text("text ", i, ": "), report.metric,
                    report.asker.metric ? "" : " of " + quoted(task.answer),
                    task.metric || task.wrong.empty() ? "" : " to " + quoted(task.wrong), ": ",
                    signed_number(text.metric, 3),
                    text.delta ? concat_text(", at the baseline ", signed_number(*text.baseline, 3),
                                             "; delta of the sum ", signed_number(*text.delta, 4))
                               : std::string(),
                    "\n");
  }
  return lines;
}

// Returns a line about integrated gradients that are far from their sum; "": none are.
std::string convergence_caution(const SaliencyReport& report) {
  constexpr double kLargeShare = 0.1;  // of the difference to the baseline
  const auto count = std::ranges::count_if(report.results, [](const Saliency& text) {
    return text.delta &&
           std::abs(*text.delta) > kLargeShare * std::abs(text.metric - text.baseline.value_or(0));
  });
  const bool is_zero = report.options.baseline == SaliencyBaseline::zero;
  return count == 0
             ? ""
             : concat_text("caution: delta is more than ", std::lround(100 * kLargeShare),
                           "% of the difference to the baseline",
                           report.is_one()
                               ? ""
                               : concat_text(" in ", count, " of ", report.tasks.size(), " texts"),
                           ": the attributions are unsettled; use more steps, ",
                           is_zero ? "a corrupt text or " : "or ", "method occlusion");
}

QuestionResult attribute_to_tokens(const Asker& asker, const Arguments& arguments) {
  const SaliencyOptions options = saliency_options(asker, arguments);
  const TaskCost cost = [&](const std::vector<PatchingTask>& tasks) {
    Index tokens = 0;
    for (const PatchingTask& task : tasks) {
      tokens += std::ssize(task.clean) * passes_of(options, std::ssize(task.clean));
    }
    return tokens;
  };
  SaliencyReport report{.asker = asker,
                        .options = options,
                        .metric = {},
                        .tasks = arguments.given("pairs")
                                     ? read_tasks(asker, arguments, cost)
                                     : std::vector{saliency_task(asker, arguments, cost)},
                        .results = {}};
  const bool is_logit = report.tasks.front().metric && !asker.metric &&
                        arguments.text("metric") == name_of(MetricKind::logit_difference);
  const bool has_several = std::ranges::any_of(report.tasks, [](const PatchingTask& task) {
    return !task.metric && (task.answer.size() > 1 || task.wrong.size() > 1);
  });
  report.metric = asker.metric  ? "function"
                  : is_logit    ? "logit"
                  : has_several ? "log_probability_difference"
                                : arguments.text("metric");
  std::vector<TokenValues> texts;
  const auto count = static_cast<double>(report.tasks.size());
  for (std::size_t i = 0; i < report.tasks.size(); ++i) {
    SaliencyOptions of_text = options;
    const auto before = static_cast<double>(i);
    of_text.progress = asker.part(before / count, (before + 1) / count);
    const auto one = [&] { return saliency(asker.model, report.tasks[i], of_text); };
    report.results.push_back(report.is_one() ? one()
                                             : in_place(concat_text("pair ", i + 1, ": "), one));
    texts.push_back({concat_text("text ", i), report.tasks[i].clean, report.results[i].tokens});
  }
  QuestionResult result{.title = concat_text("Saliency: ", name_of(options.method)),
                        .caution = convergence_caution(report),
                        .heading = heading_of(report),
                        .facts = {{"metric", report.metric},
                                  {"method", name_of(options.method)},
                                  {"baseline", name_of(options.baseline)}},
                        .tables = {token_value_table(texts, "text", "attribution",
                                                     "Attribution to the tokens", asker.tokenizer),
                                   texts_table(report)},
                        .texts = token_colours(texts, asker.tokenizer)};
  add_arrays(result.tables.front(), "", result.arrays);
  return result;
}

void check_saliency(const Arguments& arguments) {
  const bool has_baseline = arguments.chosen<SaliencyMethod>("method") != SaliencyMethod::gradient;
  require_value(has_baseline || !arguments.given("baseline"), "baseline",
                "cannot be combined with method gradient");
}

std::vector<Parameter> saliency_parameters() {
  std::vector<Parameter> all = task_parameters();
  all.front() = text_parameter("pairs");
  all[1].is_required = false;
  return with(all, {method_parameter(choices_of<SaliencyMethod>(),
                                     name_of(SaliencyMethod::integrated_gradients)),
                    {.name = "baseline",
                     .help = "Embeddings that stand for no input (default: corrupt if there is a "
                             "corrupt text)",
                     .kind = ValueKind::name,
                     .choices = choices_of<SaliencyBaseline>()},
                    {.name = "steps",
                     .help = "Number of points of the integrated gradients",
                     .kind = ValueKind::integer,
                     .fallback = 50,
                     .most = 10'000,
                     .needs = {"method=integrated_gradients"}},
                    memory_parameter({"method=occlusion"})});
}

}  // namespace

const Question& saliency_question() {
  static const Question question{
      .name = "saliency",
      .summary = "Attribute the model's answer to the tokens of the text.",
      .details = kSaliencyDetails,
      .examples = {"headlight saliency runs/toy --text \"Mina could not find her red key. She "
                   "looked under the table, but there was no red\" --answer \" key\" --html "
                   "saliency.html",
                   "headlight saliency runs/toy --text \"Mina could not find her red key. She "
                   "looked under the table, but there was no red\" --answer \" key\" --wrong "
                   "\" hat\" --method occlusion"},
      .parameters = saliency_parameters(),
      .facts = {{"caution", "null: none"},
                {"metric, method, baseline", "what was attributed, and how"},
                {"texts",
                 "[{metric, sum, baseline, delta, answer}]: the metric after each text, the sum of "
                 "its tokens and, of integrated gradients, the metric with all baselines and the "
                 "sum's distance from the difference of both"}},
      .rows = "tokens",
      .columns = {{"text, position, id, token", "the token; text counts the pairs from 0"},
                  {"attribution", "to the token, in units of the metric"}},
      .has_ranked_rows = false,
      .urgency = Urgency::live,
      .positional = {"text", "answer", "wrong"},
      .check = check_saliency,
      .answer = attribute_to_tokens};
  return question;
}

}  // namespace headlight
