#include <iostream>

#include "cli/commands.h"
#include "cli/option_groups/interventions.h"
#include "cli/option_groups/prompt_tokens.h"
#include "cli/option_groups/text_data.h"
#include "cli/patching/task_options.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/result_files.h"
#include "show/report/attribution_report.h"
#include "show/report/parts/json_output.h"

namespace headlight::cli {
namespace {

constexpr const char* kAttributeDetails =
    "Direct logit attribution: splits the logit of a token into contributions of the "
    "embedding, every attention head and every MLP to the residual stream (Elhage et al. "
    "2021). The scale of the last norm is held fixed, so the parts sum to the logit exactly. "
    "With logit_cap, the logit is the one before the cap.\n\n"
    "  --by layer    attention and MLP of every layer\n"
    "  --by head     every head\n"
    "  --by source   every head, split by the tokens it reads: pattern times value\n"
    "  --by neuron   every neuron of the MLPs, with the names of --intervene\n"
    "  --by stream   the logit of the stream after every attention and MLP, read with the\n"
    "                last norm's scale of the final stream (headlight lens: with its own)\n\n"
    "Without --token, the token is the most probable next one. --against B subtracts the logit "
    "of B, which removes contributions that all tokens get. A token is given as text or as its "
    "id, #42.\n\n"
    "--pairs replaces --text: JSON Lines {\"clean\", \"corrupt\", \"answer\", \"wrong\"}, as "
    "for headlight patch. Splits the logit of the answer minus that of the wrong token after "
    "each clean text. The parts are means over pairs with 95 % intervals (bootstrap). With "
    "groups of tokens, as for headlight patch (\"groups\" in each line, or --group end=last "
    "for all), --by source sums the contributions of each group, and of all other tokens "
    "(others). Groups can be compared between texts of different lengths.\n\n"
    "The first line warns, and parts are marked ?, if the model does not predict the token (or "
    "does not prefer it to B by a ratio of 2), if the text has fewer than 8 tokens, if most "
    "pairs are not clear, or if there are fewer than 10 pairs.\n\n"
    "With --intervene, a change to the stream itself is a part \"3.intervention\", and a head "
    "with replaced output has that part instead of sources.\n\n"
    "--npz writes an archive for numpy.load, of N parts and P prompts: logit, low, high [N], "
    "prompts [P, N], totals [P], part (names), kind (0 embedding, 1 attention, 2 head, 3 "
    "attention_bias, 4 mlp, 5 neuron, 6 mlp_bias, 7 intervention, 8 norm_bias), layer, head, "
    "source, neuron [N] (-1: none; number of layers: after the last). The same values are in a "
    "grid: layers [L, 2] (attention, MLP), heads [L, H], sources [L, H, S] and source_sums [S] "
    "(group: names), or neurons [L, I]; for one text also its tokens [T].\n\n"
    "JSON keys: caution (null: none), by, token{id, token}, probability, likeliest{id, token}, "
    "against{id, token} or null, position, logit, parts[{part, kind, layer, head, source, "
    "neuron (null for other parts), logit, reliable}]; with --by source also "
    "sources[{position, id, token, logit}] (sums over heads; group instead of position for "
    "groups). With --pairs: pairs, pairs_done (clear), logit, logit_low, logit_high and "
    "prompts[{token, ..., logit}] instead of token to logit, and logit_low and logit_high of "
    "parts and sources.";

Options attribute_options() {
  Options options(
      {.name = "attribute",
       .summary = "Split the logit of a token into contributions of heads, tokens or neurons.",
       .positional = "MODEL",
       .details = kAttributeDetails,
       .examples = {"headlight attribute runs/toy --text \"Mina could not find her red key. She "
                    "looked under the table, but there was no red\"",
                    "headlight attribute runs/toy --text \"Mina could not find her red key. She "
                    "looked under the table, but there was no red\" --token \" key\" --against "
                    "\" hat\" --by source --svg sources.svg",
                    "headlight attribute runs/toy --pairs pairs.jsonl --by neuron --npz "
                    "neurons.npz"}});
  options.value("text", "Split the logit of a prediction for this text");
  add_ids_option(options);
  options.value("token", "Split the logit of this token (default: the most probable one)")
      .value("against", "Subtract the logit of this token")
      .value("position", "Position of the prediction, from 0 (default: the last)")
      .value("pairs",
             "Read pairs from this JSON Lines file instead (fields clean, corrupt, answer, wrong)")
      .choice("by", "Parts into which the logit is split", kChoiceNames<AttributionBy>, "head");
  add_group_option(options, "--by source with --pairs");
  options.value("limit", "Show the largest N parts in the table and in figures; 0: all", "20")
      .alias("top", "limit");
  add_result_options(options);
  add_special_tokens_option(options);
  add_window_option(options);
  add_intervene_options(options);
  options.paths({"pairs"}).basic({"text", "token", "against", "pairs", "by"});
  return options;
}

AttributionTask text_task(const Options& options, const LoadedModel& loaded) {
  AttributionTask task{.text = block_tokens(options, "text", loaded)};
  if (options.given("position")) {
    task.position = options.integer("position");
    require(*task.position >= 0 && *task.position < std::ssize(task.text),
            "--position: expected a position from 0 to ", task.text.size() - 1, ", got ",
            *task.position);
  }
  const Index last = task.position.value_or(std::ssize(task.text) - 1);
  const std::vector<std::int32_t> read(task.text.begin(), task.text.begin() + last + 1);
  task.target = options.given("token") ? token_option(options, "token", *loaded.tokenizer)
                                       : likeliest_next(*loaded.model, read);
  if (options.given("against")) {
    task.against = token_option(options, "against", *loaded.tokenizer);
  }
  return task;
}

// Returns the single token of an answer: attribution splits the logit of one token.
std::int32_t only_token(const std::vector<std::int32_t>& answer, const char* key) {
  require(answer.size() == 1, "--pairs: key \"", key,
          "\": expected a text of one token, got one of ", answer.size());
  return answer.front();
}

std::vector<AttributionTask> tasks_of(const Options& options, const LoadedModel& loaded,
                                      AttributionBy by) {
  if (!options.given("pairs")) {
    refuse_options(options, {"group"}, "needs --pairs");
    return {text_task(options, loaded)};
  }
  refuse_options(options, {"text", "ids", "token", "against", "position"},
                 "cannot be combined with --pairs");
  std::vector<AttributionTask> tasks;
  const bool with_groups = by == AttributionBy::source;
  for (PatchingTask& pair : read_pairs(options, loaded, with_groups)) {
    tasks.push_back({.text = std::move(pair.clean),
                     .target = only_token(pair.answer, "answer"),
                     .against = only_token(pair.wrong, "wrong"),
                     .groups = std::move(pair.groups)});
  }
  return tasks;
}

void attribute_command(const Options& options) {
  const auto by = options.chosen<AttributionBy>("by");
  require(by == AttributionBy::source || !options.given("group"), "--group: needs --by source");
  const Index limit = count_option(options, "limit", 0);
  const ResultFiles files(options);
  const LoadedModel loaded = load_windowed_model(options.positional(), options);
  intervene(options, loaded);
  AttributionReport report{.by = by,
                           .tasks = tasks_of(options, loaded, by),
                           .study = {},
                           .tokenizer = *loaded.tokenizer};
  report.study = attribute_prompts(*loaded.model, report.tasks,
                                   {.by = by, .progress = progress_bar("reading prompts")});
  files.write({.svg = [&] { return attribution_svg(report, limit); },
               .arrays = [&] { return attribution_arrays(report); },
               .page = [&] { return attribution_page(report, limit); }});
  std::cout << (options.json() ? json_line(attribution_json(report))
                               : attribution_text(report, limit));
}

}  // namespace

int run_attribute(const Words& words) { return run(attribute_options(), words, attribute_command); }

}  // namespace headlight::cli
