#include <iostream>
#include <optional>

#include "cli/commands.h"
#include "cli/patching/task_options.h"
#include "cli/terminal/interventions.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/prompt_tokens.h"
#include "cli/terminal/result_files.h"
#include "cli/terminal/text_data.h"
#include "headlight/formats/model_directory.h"
#include "headlight/heads/effects/patching.h"
#include "views/report/attribution_report.h"
#include "views/report/json_output.h"

namespace headlight::cli {
namespace {

constexpr const char* kAttributeDetails =
    "Direct logit attribution: the logit of a token is a sum over what the embedding, every\n"
    "attention head and every MLP wrote into the residual stream (Elhage et al. 2021), with the\n"
    "scale of the last norm taken as it is. The parts sum to the logit exactly.\n"
    "  --by layer    attention and MLP of every layer\n"
    "  --by head     every head\n"
    "  --by source   what every head adds, by the token that it reads: pattern times value\n"
    "  --by neuron   every neuron of the MLPs, named as --intervene names them\n"
    "  --by stream   no parts: the logit as the stream holds it behind every layer's attention\n"
    "                and MLP, read with the last norm's scale of the whole (lens: with their own)\n"
    "Without --token it is the likeliest next token. --against B takes the logit of B off, which\n"
    "removes what all tokens get. A token is given as its text or as its number, #42.\n"
    "--pairs takes the place of a text: JSON lines {\"clean\", \"corrupt\", \"answer\", \"wrong\"} "
    "as\n"
    "patch reads them. The logit of the answer less that of the wrong token after each clean text\n"
    "is taken apart; the parts are means over pairs with 95 % intervals (bootstrap).\n"
    "With groups of tokens, as patch reads them (\"groups\" in each line, or --group end=last for\n"
    "all), --by source adds up what heads read from each group, and from all others (others).\n"
    "Groups can be compared between texts of different lengths.\n"
    "When the model does not choose the token there (does not prefer it to B, or not by twice as\n"
    "likely), or has fewer than 8 tokens to look at, the first line says so, and parts are\n"
    "marked ?; so it does when most pairs are not done clearly, or they are fewer than 10.\n"
    "With --intervene what it changes in the stream itself is a part \"3.intervention\", and a "
    "head\n"
    "whose output it replaced has that in the place of sources.\n"
    "MODEL is a run directory, a checkpoint, a Hugging Face directory or a GGUF file.\n\n"
    "--npz writes an archive for numpy.load, of N parts and P prompts: logit, low, high [N],\n"
    "prompts [P, N], totals [P], part (their names), kind (0 embedding, 1 attention, 2 head, 3 "
    "attention_bias, 4 mlp,\n"
    "5 neuron, 6 mlp_bias, 7 intervention, 8 norm_bias), layer, head, source, neuron [N] (-1:\n"
    "none; a layer too many: behind the last); and the same in a grid: layers [L, 2] (attention,\n"
    "MLP), heads [L, H], sources [L, H, S] and source_sums [S] (group: their names), or neurons\n"
    "[L, I]; of one text its tokens [T].\n"
    "JSON keys: caution (null: none), by, token{id, token}, probability, likeliest{id, token},\n"
    "against{id, token} or null, position, logit, parts[{part, kind, layer, head, source, neuron\n"
    "(each null for other parts), logit, reliable}], with --by source sources[{position, id, "
    "token,\n"
    "logit}] (sums over heads; group instead of position where these are groups). With --pairs\n"
    "pairs, pairs_done (clearly), logit, logit_low, logit_high and prompts[{token, ..., logit}]\n"
    "in the place of token to logit, and logit_low and logit_high of parts and sources.";

Options attribute_options() {
  Options options(
      {.name = "attribute",
       .summary = "What every head, source token or neuron adds to the logit of a token.",
       .positional = "MODEL",
       .details = kAttributeDetails,
       .examples = {"headlight attribute runs/toy --text \"Mina could not find her red key. She "
                    "looked under the table, but there was no red\"",
                    "headlight attribute runs/toy --text \"Mina could not find her red key. She "
                    "looked under the table, but there was no red\" --token \" key\" --against "
                    "\" hat\" --by source --svg sources.svg",
                    "headlight attribute runs/toy --pairs pairs.jsonl --by neuron --npz "
                    "neurons.npz"}});
  options.value("text", "Text to read");
  add_ids_option(options);
  options.value("token", "Token whose logit is taken apart; the likeliest by default")
      .value("against", "Token whose logit is taken off")
      .value("position", "Position of the text that predicts it, from 0; the last by default")
      .value("pairs", "JSON lines with clean, corrupt, answer and wrong, in their place")
      .value("by", "What the parts are: " + listed(kChoiceNames<AttributionBy>), "head");
  add_group_option(options, "--by source with --pairs");
  options.value("limit", "Rows of the tables, and of a picture's strongest; 0: all", "20")
      .alias("top", "limit");
  add_result_options(options);
  add_special_tokens_option(options);
  add_window_option(options);
  add_intervene_options(options);
  return options;
}

AttributionTask text_task(const Options& options, const LoadedModel& loaded) {
  AttributionTask task{.text = block_tokens(options, "text", loaded)};
  if (options.given("position")) {
    task.position = options.integer("position");
    const auto length = static_cast<Index>(task.text.size());
    require(*task.position >= 0 && *task.position < length, "--position: expected 0 to ",
            length - 1, ", got ", *task.position);
  }
  std::vector<std::int32_t> read = task.text;
  read.resize(
      static_cast<std::size_t>(task.position.value_or(static_cast<Index>(task.text.size()) - 1)) +
      1);
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

int attribute_command(const Options& options) {
  const auto by = parse_name<AttributionBy>("by", options.text("by"));
  require(by == AttributionBy::source || !options.given("group"), "--group: needs --by source");
  const Index limit = count_option(options, "limit", 0);
  const ResultFiles files(options);
  const LoadedModel loaded = load_windowed_model(options.positional(), options);
  intervene(options, loaded);
  AttributionReport report{.by = by,
                           .tasks = tasks_of(options, loaded, by),
                           .study = {},
                           .tokenizer = *loaded.tokenizer};
  {
    CountProgress progress("reading prompts");
    report.study =
        attribute_prompts(*loaded.model, report.tasks,
                          {.by = by, .progress = [&](double share) { progress.show(share); }});
  }
  files.write({.svg = [&] { return attribution_svg(report, limit); },
               .arrays = [&] { return attribution_arrays(report); },
               .page = [&] { return attribution_page(report, limit); }});
  if (options.json()) {
    print_json(attribution_json(report));
  } else {
    std::cout << attribution_text(report, limit);
  }
  return 0;
}

}  // namespace

int run_attribute(const std::vector<std::string>& arguments) {
  return run_command(attribute_options(), arguments, attribute_command);
}

}  // namespace headlight::cli
