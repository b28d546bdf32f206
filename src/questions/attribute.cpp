#include <memory>

#include "base/transformed.h"
#include "questions/task_parameters.h"
#include "questions/text_parameters.h"
#include "show/report/attribution_report.h"

namespace headlight {
namespace {

constexpr const char* kAttributeDetails =
    "Direct logit attribution: splits the logit of a token into contributions of the "
    "embedding, every attention head and every MLP to the residual stream (Elhage et al. "
    "2021). The scale of the last norm is held fixed, so the parts sum to the logit exactly. "
    "With logit_cap, the logit is the one before the cap.\n\n"
    "  by layer    attention and MLP of every layer\n"
    "  by head     every head\n"
    "  by source   every head, split by the tokens it reads: pattern times value\n"
    "  by neuron   every neuron of the MLPs, with the names of intervene\n"
    "  by stream   the logit of the stream after every attention and MLP, read with the\n"
    "              last norm's scale of the final stream (headlight lens: with its own)\n\n"
    "Without answer, the token is the most probable next one. wrong subtracts the logit of "
    "that token, which removes contributions that all tokens get. A token is given as text or as "
    "its id, #42.\n\n"
    "pairs replace text: objects {\"clean\", \"corrupt\", \"answer\", \"wrong\"}, as for "
    "headlight patch. Splits the logit of the answer minus that of the wrong token after "
    "each clean text. The parts are means over pairs with 95 % intervals (bootstrap). With "
    "groups of tokens, as for headlight patch (\"groups\" in each pair, or group end=last "
    "for all), by source sums the contributions of each group, and of all other tokens "
    "(others). Groups can be compared between texts of different lengths.\n\n"
    "The first line warns, and parts are marked ?, if the model does not predict the token (or "
    "does not prefer it to the wrong one by a ratio of 2), if the text has fewer than 8 tokens, "
    "if most pairs are not clear, or if there are fewer than 10 pairs.\n\n"
    "With intervene, a change to the stream itself is a part \"3.intervention\", and a head "
    "with replaced output has that part instead of sources.\n\n"
    "The arrays are, of N parts and P prompts: logit, low, high [N], prompts [P, N], totals [P], "
    "part (names), kind (0 embedding, 1 attention, 2 head, 3 attention_bias, 4 mlp, 5 neuron, 6 "
    "mlp_bias, 7 intervention, 8 norm_bias), layer, head, source, neuron [N] (-1: none; number "
    "of layers: after the last). The same values are in a grid: layers [L, 2] (attention, MLP), "
    "heads [L, H], sources [L, H, S] and source_sums [S] (group: names), or neurons [L, I]; for "
    "one text also its tokens [T].";

AttributionTask text_task(const Asker& asker, const Arguments& arguments) {
  AttributionTask task{.text = read_prompt(asker, arguments.value("text"), "text")};
  const Index last = std::ssize(task.text) - 1;
  if (arguments.given("position")) {
    task.position = arguments.integer("position");
    require_value(*task.position <= last, "position", "expected a position from 0 to ", last,
                  ", got ", *task.position);
  }
  task.target = read_token(asker, arguments, "answer");
  task.against = read_token(asker, arguments, "wrong");
  asker.begin(asker.tokens_read(task.text, task.position.value_or(last)));
  return task;
}

std::vector<AttributionTask> attribution_tasks(const Asker& asker, const Arguments& arguments,
                                               AttributionBy by) {
  if (!arguments.given("pairs")) {
    return {text_task(asker, arguments)};
  }
  const TaskCost cost = [](const std::vector<PatchingTask>& tasks) {
    Index tokens = 0;
    for (const PatchingTask& task : tasks) {
      tokens += std::ssize(task.clean);
    }
    return tokens;
  };
  return transformed(read_tasks(asker, arguments, cost, by == AttributionBy::source),
                     [](const PatchingTask& pair) -> AttributionTask {
                       return {.text = pair.clean,
                               .target = only_id(pair.answer, "answer"),
                               .against = only_id(pair.wrong, "wrong"),
                               .groups = pair.groups};
                     });
}

QuestionResult attribute(const Asker& asker, const Arguments& arguments) {
  const auto by = arguments.chosen<AttributionBy>("by");
  const auto report = std::make_shared<AttributionReport>(
      AttributionReport{.by = by,
                        .tasks = attribution_tasks(asker, arguments, by),
                        .study = {},
                        .tokenizer = asker.tokenizer});
  report->study = attribute_prompts(asker.model, report->tasks,
                                    {.by = by, .progress = asker.progress, .kept = asker.kept});
  report->tasks.front().target = report->study.prompts.front().target;
  QuestionResult result{.title = "Direct logit attribution",
                        .caution = report->caution(),
                        .heading = attribution_heading(*report),
                        .facts = attribution_facts(*report),
                        .tables = attribution_tables(*report),
                        .note = attribution_note(*report)};
  if (asker.shows) {
    result.grids = attribution_grids(*report, asker.limit);
    result.arrays = attribution_arrays(*report);
  }
  if (by == AttributionBy::stream) {
    result.curve = [report] { return attribution_curve(*report); };
  }
  return result;
}

std::vector<Parameter> attribute_parameters() {
  std::vector<Parameter> all = answer_parameters();
  all.insert(all.begin(), text_parameter("pairs"));
  all.insert(all.end(), {{.name = "position",
                          .help = "Position of the prediction, from 0 (default: the last)",
                          .kind = ValueKind::integer,
                          .least = 0,
                          .excludes = {"pairs"}},
                         pairs_parameter(),
                         by_parameter(choices_of<AttributionBy>(), name_of(AttributionBy::head)),
                         group_parameter({"pairs", "by=source"})});
  return all;
}

}  // namespace

const Question& attribute_question() {
  static const Question question{
      .name = "attribute",
      .summary = "Split the logit of a token into contributions of heads, tokens or neurons.",
      .details = kAttributeDetails,
      .examples = {"headlight attribute runs/toy --text \"Mina could not find her red key. She "
                   "looked under the table, but there was no red\"",
                   "headlight attribute runs/toy --text \"Mina could not find her red key. She "
                   "looked under the table, but there was no red\" --answer \" key\" --wrong "
                   "\" hat\" --by source --svg sources.svg",
                   "headlight attribute runs/toy --pairs pairs.jsonl --by neuron --npz "
                   "neurons.npz"},
      .parameters = attribute_parameters(),
      .facts = {{"caution", "null: none"},
                {"by", "the parts"},
                {"answer, wrong", "{id, token}; wrong may be null"},
                {"probability, likeliest", "of the answer; the most probable {id, token}"},
                {"position", "of the prediction"},
                {"logit", "the whole, of pairs the mean, with logit_low and logit_high"},
                {"pairs, pairs_done", "of pairs: their number, and how many are clear"},
                {"prompts", "of pairs: [{answer, ..., logit}]"},
                {"sources",
                 "by source: [{position, id, token, logit}], sums over heads; group instead of "
                 "position for groups; of pairs with logit_low and logit_high"}},
      .rows = "parts",
      .columns = {{"part, kind, layer, head, source, neuron", "the part; null for other parts"},
                  {"logit", "its contribution, of pairs with logit_low and logit_high"},
                  {"reliable", "there is no caution"}},
      .urgency = Urgency::live,
      .positional = {"text", "answer", "wrong"},
      .answer = attribute};
  return question;
}

}  // namespace headlight
