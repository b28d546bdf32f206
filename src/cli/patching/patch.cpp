#include <algorithm>
#include <iostream>
#include <limits>

#include "base/transformed.h"
#include "cli/commands.h"
#include "cli/option_groups/interventions.h"
#include "cli/option_groups/text_data.h"
#include "cli/patching/patch_grid.h"
#include "cli/patching/task_options.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/result_files.h"
#include "headlight/interpret/effects/patch_grid.h"
#include "show/report/effect_grids.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/table.h"
#include "show/report/parts/terminal_text.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kCautionColumns = 100;

constexpr const char* kPatchDetails =
    "Activation patching: the model reads the corrupt text, and the output of one head is "
    "replaced at every position by its output on the clean text. 'recovered' is the change of "
    "the metric, from 0 (corrupt text) to 1 (clean text).\n\n"
    "Bidirectional models (BERT) predict a masked token: write one [MASK] at the same place of "
    "both texts. The answers are single tokens in its place.\n\n"
    "The shares are meaningful only if the model does the task: it must prefer the answer "
    "after the clean text and the wrong answer after the corrupt text, clearly so from a ratio "
    "of 2 on (task: none, weak or clear). Otherwise the first line says so, and the shares are "
    "marked ?.\n\n"
    "--point, --by, --pairs, --noising, --method, --layers, --positions or --group compute a "
    "grid instead: values of a point (see headlight generate --help all) are replaced by "
    "layer, by head (or neuron), by position or by group of tokens. Positions are those of the "
    "text. Without positions, the tokens of a longer answer are patched together with the "
    "text. --noising patches values of the corrupt text into the clean one. --method attribution "
    "estimates all parts from one gradient, as a linear approximation of patching. --method "
    "both also shows the correlation of the two (Pearson's r), and --scatter draws it. --qk_fix "
    "and --grad_drop are the two parts of AtP* (Kramar et al. 2024); --grad_drop loses the "
    "signs.\n\n"
    "--path 0.4:3.1.k passes the clean output of head 0.4 directly to the keys of head 3.1 "
    "only. All other heads and MLPs keep their output on the corrupt text. No norm is held "
    "fixed: the norm before head 3.1 is computed anew. Heads that share keys and values are "
    "patched and named together: 3.0-2.\n\n"
    "--pairs reads JSON Lines {\"clean\", \"corrupt\", \"answer\", \"wrong\"}. Shares are then "
    "means over pairs with 95 % intervals. Texts of different lengths can be compared by "
    "groups of tokens of the clean text, given in each line or for all lines by --group "
    "end=last:\n"
    "  \"groups\": {\"name\": \"Mary\", \"again\": \"Mary#2\", \"verb\": [4, 5], \"end\": "
    "\"last\"}\n"
    "Mary#2 is the second occurrence; numbers are positions. --by group compares groups.\n\n"
    "--npz holds recovered and attribution [R, K] ([R] with --by layer), and for pairs their "
    "_low and _high; without a grid recovered and difference. The axes are arrays of names: "
    "layer, head, position, group.\n\n"
    "JSON keys: task, caution (null: the task is clear), metric (logit_difference, "
    "log_probability_difference, or that of --metric, whose task is null), clean_difference, "
    "corrupt_difference, clean_next{id, token, "
    "probability} and corrupt_next{...} (most probable token after each text), answer{id, ids, "
    "token} (id: of a single token), wrong{...}, heads[{head, layer, index, difference, "
    "recovered, reliable}]. For a grid: point, by, method, noising, metric, pairs, pairs_done "
    "(with a clear task), caution, clean_difference, corrupt_difference, correlation, "
    "cells[{layer, item, position, group, token, difference, recovered, recovered_low, "
    "recovered_high, attribution, attribution_low, attribution_high}]. For a path: from, to "
    "(3.1 or 3.0-2), into, metric, difference, recovered.";

Options patch_options() {
  Options options(
      {.name = "patch",
       .summary = "Find the heads that carry the difference between two texts.",
       .positional = "MODEL",
       .details = kPatchDetails + std::string("\n\n") + kTaskDetails,
       .examples = {"headlight patch runs/toy " + kExamplePair,
                    "headlight patch runs/toy --pairs pairs.jsonl --point resid_pre --by position "
                    "--method both --svg stream.svg",
                    "headlight patch runs/toy --pairs pairs.jsonl --point resid_pre --group "
                    "end=last --html stream.html"}});
  add_pair_options(options);
  add_metric_option(options);
  options
      .value("point", "Replace values of this point: z, resid_pre, attn_out, mlp_out, q ...", "z")
      .choices(kChoiceNames<Point>)
      .choice("by", "Parts to replace (default: head, or position for points without heads)",
              kPatchParts)
      .value("layers", "Only these layers, e.g. 3 or 4-8 (8 included)")
      .value("positions", "Only these positions (from 0), e.g. 3 or 4-8 (8 included)");
  add_group_option(options, "--by group");
  options
      .choice("method", "Patch the values, estimate the effect from a gradient, or both",
              kPatchMethods, "patch")
      .value("path",
             "Patch one path from a head, an MLP or embed to an input of a later head, an MLP or "
             "the logits: 0.4:3.1.k (q, k or v of head 3.1), embed:mlp.2, mlp.3:logits")
      .value("limit", "Show the strongest N cells of a grid; 0: all", "20")
      .flag("qk_fix",
            "Attribution: compute the attention weights of patched q, k, rot_q and rot_k, for "
            "attention that saturates (AtP*)")
      .flag("grad_drop",
            "Attribution: average absolute effects over passes without the paths through each "
            "layer, for effects that cancel (AtP*)")
      .value("scatter", "Draw attribution against patching to this .svg file (--method both)")
      .flag("noising", "Patch values of the corrupt text into the clean one");
  add_result_options(options);
  add_intervene_options(options);
  options.paths({"scatter"}).basic({"point", "by", "path"});
  return options;
}

std::string caution_of(const PatchingResult& result, const PatchingTask& task,
                       const Tokenizer& tokenizer) {
  return has_own_metric({task}) ? ""
                                : patching_caution(result, answer_label(task.answer, tokenizer),
                                                   answer_label(task.wrong, tokenizer));
}

const char* strength_name(TaskStrength strength) {
  return strength == TaskStrength::none   ? "none"
         : strength == TaskStrength::weak ? "weak"
                                          : "clear";
}

Json next_json(const NextToken& next, const Tokenizer& tokenizer) {
  Json json = token_json(next.id, tokenizer);
  json["probability"] = next.probability;
  return json;
}

Json json_of(const Options& options, const PatchingResult& result, const PatchingTask& task,
             const Tokenizer& tokenizer) {
  const std::string caution = caution_of(result, task, tokenizer);
  Json json{{"task", has_own_metric({task}) ? Json() : Json(strength_name(result.strength()))},
            {"caution", text_or_null(caution)},
            {"metric", metric_name(options, {task})},
            {"clean_difference", result.clean_difference},
            {"corrupt_difference", result.corrupt_difference},
            {"clean_next", next_json(result.clean_next, tokenizer)},
            {"corrupt_next", next_json(result.corrupt_next, tokenizer)},
            {"answer", answer_json(task.answer, tokenizer)},
            {"wrong", answer_json(task.wrong, tokenizer)},
            {"heads", Json::array()}};
  for (const HeadPatch& patch : result.heads) {
    Json entry = head_json(patch.head);
    entry["difference"] = patch.difference;
    entry["recovered"] = patch.recovered;
    entry["reliable"] = caution.empty();
    json["heads"].push_back(std::move(entry));
  }
  return json;
}

std::string differences_text(const Options& options, const PatchingResult& result,
                             const PatchingTask& task, const Tokenizer& tokenizer) {
  return measured_differences(options, {task},
                              {result.clean_difference, result.corrupt_difference, 1}, tokenizer);
}

// Label and probability of a token, as "' Anna' (0.93)".
std::string next_text(const NextToken& next, const Tokenizer& tokenizer) {
  return quoted_label(next.id, tokenizer) + " (" + fixed_number(next.probability, 2) + ")";
}

std::string text_of(const Options& options, PatchingResult result, const PatchingTask& task,
                    const Tokenizer& tokenizer) {
  std::ranges::stable_sort(result.heads, std::ranges::greater(), &HeadPatch::recovered);
  const std::string caution = caution_of(result, task, tokenizer);
  Table table({{"head", true}, {"difference", false}, {"recovered", false}});
  for (const HeadPatch& patch : result.heads) {
    table.add({head_name(patch.head), signed_number(patch.difference, 3),
               signed_number(patch.recovered, 3) + (caution.empty() ? "" : " ?")});
  }
  return (caution.empty() ? "" : wrapped(caution, kCautionColumns) + "\n") +
         differences_text(options, result, task, tokenizer) +
         (task.mask ? "\nlikeliest masked token: clean " : "\nlikeliest next token: clean ") +
         next_text(result.clean_next, tokenizer) + ", corrupt " +
         next_text(result.corrupt_next, tokenizer) + "\n\n" + table.text();
}

void show_heads(const Options& options, const LoadedModel& loaded, const PatchingTask& task,
                const ResultFiles& files) {
  const PatchingResult result = patch_heads(*loaded.model, task, progress_bar("patching"));
  const std::vector<ResultGrid> grids = patching_grids(result, !has_own_metric({task}));
  files.write(grids, [&]() -> ResultPage {
    return {.title = "Effect of patching heads",
            .note = differences_text(options, result, task, *loaded.tokenizer),
            .grids = grids};
  });
  std::cout << (options.json() ? json_line(json_of(options, result, task, *loaded.tokenizer))
                               : text_of(options, result, task, *loaded.tokenizer));
}

void patch_command(const Options& options) {
  const bool is_grid = asks_for_grid(options);
  const ResultFiles files(options);  // rejects invalid file names before the model is read
  const LoadedModel loaded =
      load_text_model(options.positional(), options, {.bidirectional = true});
  intervene(options, loaded);
  if (is_grid) {
    patch_and_show_grid(options, loaded, files);
  } else if (options.given("path")) {
    show_path(options, loaded, task_option(options, loaded));
  } else {
    show_heads(options, loaded, task_option(options, loaded), files);
  }
}

}  // namespace

int run_patch(const Words& words) { return run(patch_options(), words, patch_command); }

}  // namespace headlight::cli
