#include <algorithm>
#include <iostream>
#include <limits>

#include "base/display_text.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/patching/patch_grid.h"
#include "cli/patching/task_options.h"
#include "cli/terminal/interventions.h"
#include "cli/terminal/loading.h"
#include "cli/terminal/options.h"
#include "cli/terminal/result_files.h"
#include "cli/terminal/text_data.h"
#include "headlight/formats/model_directory.h"
#include "headlight/heads/effects/patching.h"
#include "views/report/json_output.h"
#include "views/report/table.h"
#include "views/report/terminal_text.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kCautionColumns = 100;

constexpr const char* kPatchDetails =
    "Activation patching: the model reads the corrupt text while the output of one head is\n"
    "replaced, at every position, by what it puts out on the clean text. 'recovered' tells how\n"
    "far that moves what is measured from the corrupt text's (0) to the clean one's (1).\n"
    "It is a share of something only when the model does the task: the answer must be likelier\n"
    "than the wrong one after the clean text, and less likely after the corrupt one, clearly so\n"
    "from twice as likely on (task: none, weak or clear). Otherwise the first line says so, and\n"
    "the shares are marked ?.\n"
    "\n"
    "--point, --by, --pairs, --noising, --method, --layers, --positions or --group ask for a grid\n"
    "instead: the values of a point (see headlight generate --help) are replaced part by part: by\n"
    "layer, head (or neuron), position or group of tokens. Positions are those of the text; where\n"
    "they are not apart, an answer of several tokens is patched with the text. --noising reads "
    "the\n"
    "clean text with values of the corrupt one. --method attribution tells all parts from one\n"
    "gradient, a straight-line guess at what patching would do; both shows how well they agree\n"
    "(Pearson's r).\n"
    "\n"
    "--path 0.4:3.1.k lets the output of head 0.4 on the clean text reach the keys of head 3.1\n"
    "directly, and nothing else: all other heads and MLPs keep their output on the corrupt text.\n"
    "No norm is held fixed: the norm before head 3.1 is computed anew. Heads that share keys and\n"
    "values are patched together, and named together: 3.0-2.\n"
    "\n"
    "--pairs reads many: JSON lines {\"clean\", \"corrupt\", \"answer\", \"wrong\"}; the shares "
    "are\n"
    "means over pairs with 95 % intervals. Texts of different lengths have no positions in "
    "common,\n"
    "but groups: \"groups\": {\"name\": \"Mary\", \"again\": \"Mary#2\", \"verb\": [4, 5], "
    "\"end\": "
    "\"last\"}\n"
    "in each line, or --group end=last for all, name tokens of the clean text by what stands "
    "there\n"
    "(#2: where it stands for the second time) or by position; --by group compares them.\n"
    "\n"
    "--npz holds recovered and attribution [R, K] ([R] of --by layer), and of pairs their _low "
    "and\n"
    "_high; without a grid recovered and difference. The axes are arrays of names: layer, head,\n"
    "position, group.\n"
    "\n"
    "MODEL is a run directory, a checkpoint, a Hugging Face directory or a GGUF file.\n"
    "JSON keys of a grid: point, by, method, noising, metric (logit_difference or\n"
    "log_probability_difference), pairs, pairs_done (where the model does the task clearly),\n"
    "caution, clean_difference, corrupt_difference, correlation, cells[{layer, item, position, "
    "group,\n"
    "token, difference, recovered, recovered_low, recovered_high, attribution, attribution_low,\n"
    "attribution_high}]; of a path: from, to (3.1 or 3.0-2), into, metric, difference, recovered;\n"
    "else: task, caution\n"
    "(null: the task is clear), metric, clean_difference, corrupt_difference, clean_next{id, "
    "token,\n"
    "probability} and corrupt_next{...} (the likeliest after each text), answer{id, ids, token}\n"
    "(id: of a single token), wrong{...}, heads[{head, layer, index, difference, recovered,\n"
    "reliable}].";

Options patch_options() {
  Options options(
      {.name = "patch",
       .summary = "Which parts carry the difference between two texts.",
       .positional = "MODEL",
       .details = kTaskDetails + std::string("\n") + kPatchDetails,
       .examples = {"headlight patch runs/toy --clean \"Mina could not find her red key. She "
                    "looked under the table, but there was no red\" --corrupt \"Mina could not "
                    "find her red hat. She looked under the table, but there was no red\" "
                    "--answer \" key\" --wrong \" hat\"",
                    "headlight patch runs/toy --pairs pairs.jsonl --point resid_pre --by position "
                    "--method both --svg stream.svg",
                    "headlight patch runs/toy --pairs pairs.jsonl --point resid_pre --group "
                    "end=last --html stream.html"}});
  add_pair_options(options);
  options
      .value("point", "What is replaced: z, resid_pre, attn_out, mlp_out, q, pattern, mlp_post ...",
             "z")
      .value("by",
             "Parts: layer, head, position, group, head,position or head,group; default: head, or "
             "position of a point without heads")
      .value("layers", "Only these layers, as 3 or 4-8")
      .value("positions", "Only these positions, as 3 or 4-8");
  add_group_option(options, "--by group");
  options.value("method", "patch, attribution or both", "patch")
      .value("path", "Path patching, as FROM:TO.q: 0.4:3.1.k")
      .value("limit", "Rows of the table of a grid; 0: all", "20")
      .flag("noising", "Read the clean text with values of the corrupt one");
  add_result_options(options);
  add_intervene_options(options);
  return options;
}

// Grid of one measure of all heads, [layers, heads].
ResultGrid grid_of(const PatchingResult& result, const std::string& name,
                   double HeadPatch::*measure) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::vector<HeadValue> heads;
  for (const HeadPatch& patch : result.heads) {
    heads.push_back({patch.head, {patch.*measure, kNone, kNone}});
  }
  const TaskStrength strength = result.strength();
  MatrixPlot plot = head_plot(heads);
  plot.title = name == "recovered" ? "Recovered by each head" : "Difference with each head patched";
  plot.limit = name == "recovered" ? 1.0 : 0.0;
  plot.note =
      strength == TaskStrength::none ? "The model does not do this task: the shares have no meaning"
      : strength == TaskStrength::weak ? "The model hardly does this task: the shares may be chance"
                                       : "";
  plot.doubtful = strength != TaskStrength::clear;
  return {name, std::move(plot)};
}

std::string caution_of(const PatchingResult& result, const PatchingTask& task,
                       const Tokenizer& tokenizer) {
  return patching_caution(result, answer_label(task.answer, tokenizer),
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

Json json_of(const PatchingResult& result, const PatchingTask& task, const Tokenizer& tokenizer) {
  const std::string caution = caution_of(result, task, tokenizer);
  Json json{{"task", strength_name(result.strength())},
            {"caution", text_or_null(caution)},
            {"metric", metric_name({task})},
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

// First line of the output: the measured difference for both texts.
std::string differences_text(const PatchingResult& result, const PatchingTask& task,
                             const Tokenizer& tokenizer) {
  return concat_text(measured_name({task}, tokenizer), ": clean ",
                     signed_number(result.clean_difference, 3), ", corrupt ",
                     signed_number(result.corrupt_difference, 3));
}

// Label and probability of a token, as "' Anna' (0.93)".
std::string next_text(const NextToken& next, const Tokenizer& tokenizer) {
  return "'" + display_label(tokenizer.token_label(next.id)) + "' (" +
         fixed_number(next.probability, 2) + ")";
}

void print(PatchingResult result, const PatchingTask& task, const Tokenizer& tokenizer) {
  std::stable_sort(
      result.heads.begin(), result.heads.end(),
      [](const HeadPatch& a, const HeadPatch& b) { return a.recovered > b.recovered; });
  const std::string caution = caution_of(result, task, tokenizer);
  if (!caution.empty()) {
    std::cout << wrapped(caution, kCautionColumns) << "\n";
  }
  std::cout << differences_text(result, task, tokenizer) << "\n"
            << "likeliest next token: clean " << next_text(result.clean_next, tokenizer)
            << ", corrupt " << next_text(result.corrupt_next, tokenizer) << "\n\n";
  Table table({{"head", true}, {"difference", false}, {"recovered", false}});
  for (const HeadPatch& patch : result.heads) {
    table.add({head_name(patch.head), signed_number(patch.difference, 3),
               signed_number(patch.recovered, 3) + (caution.empty() ? "" : " ?")});
  }
  std::cout << table.text();
}

void show_heads(const Options& options, const LoadedModel& loaded, const PatchingTask& task,
                const ResultFiles& files) {
  const PatchingResult result = patch_heads(*loaded.model, task);
  const std::vector<ResultGrid> grids{grid_of(result, "recovered", &HeadPatch::recovered),
                                      grid_of(result, "difference", &HeadPatch::difference)};
  files.write({.svg = [&] { return matrix_plot_svg(grids.front().plot); },
               .arrays = [&] { return arrays_of(grids); },
               .page =
                   [&] {
                     return ResultPage{.title = "Effect of patching heads",
                                       .note = differences_text(result, task, *loaded.tokenizer),
                                       .graph = "",
                                       .grids = grids};
                   }});
  if (options.json()) {
    print_json(json_of(result, task, *loaded.tokenizer));
  } else {
    print(result, task, *loaded.tokenizer);
  }
}

int patch_command(const Options& options) {
  const bool is_grid = asks_for_grid(options);
  const ResultFiles files(options);  // rejects invalid file names before the model is read
  const LoadedModel loaded = load_text_model(options.positional(), options);
  intervene(options, loaded);
  if (is_grid) {
    patch_and_show_grid(options, loaded, files);
  } else if (options.given("path")) {
    show_path(options, loaded, task_option(options, loaded));
  } else {
    show_heads(options, loaded, task_option(options, loaded), files);
  }
  return 0;
}

}  // namespace

int run_patch(const std::vector<std::string>& arguments) {
  return run_command(patch_options(), arguments, patch_command);
}

}  // namespace headlight::cli
