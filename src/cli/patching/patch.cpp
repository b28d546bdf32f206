#include <algorithm>
#include <iostream>
#include <limits>

#include "base/display_text.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/patching/patch_grid.h"
#include "cli/terminal/interventions.h"
#include "cli/terminal/options.h"
#include "cli/terminal/prompt_tokens.h"
#include "headlight/files/file_writer.h"
#include "headlight/heads/patching.h"
#include "headlight/io/model_directory.h"
#include "headlight/views/matrix_plot.h"
#include "views/report/json_output.h"
#include "views/report/table.h"
#include "views/report/terminal_text.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kCautionColumns = 100;

constexpr const char* kDetails =
    "Activation patching: the model reads the corrupt text while the output of one head is\n"
    "replaced, at every position, by what it puts out on the clean text. 'recovered' tells how\n"
    "far that moves the difference of two logits after the last token, answer less wrong, from\n"
    "the corrupt text's (0) to the clean one's (1). Both texts must have the same number of\n"
    "tokens. Without --answer and --wrong these are the likeliest next tokens of the two texts. A\n"
    "token is given as its text or as its number, #42. --svg FILE draws the heads as a heat map.\n"
    "'recovered' is a share of something only when the model does the task: the answer must be\n"
    "likelier than the wrong token after the clean text, and less likely after the corrupt one,\n"
    "clearly so from twice as likely on (task: none, weak or clear). Otherwise the first line\n"
    "says so, and the shares are marked ?.\n"
    "\n"
    "--point, --by, --pairs, --noising, --method, --layers or --positions ask for a grid instead:\n"
    "the values of a point (see headlight generate --help) are replaced part by part: by layer, "
    "by\n"
    "head (or neuron), by position, or by head,position. --noising reads the clean text with "
    "values\n"
    "of the corrupt one. --method attribution tells all parts from one gradient, a straight-line\n"
    "guess at what patching would do; both shows how well they agree (Pearson's r). --pairs reads\n"
    "many: JSON lines {\"clean\", \"corrupt\", \"answer\", \"wrong\"}; the shares are means over\n"
    "pairs with 95 % intervals. --path 0.4:3.1.k lets what head 0.4 puts out on the clean text\n"
    "reach the keys of head 3.1 directly, and nothing else.\n\n"
    "MODEL is a run directory, a checkpoint, a Hugging Face directory or a GGUF file.\n"
    "JSON keys of a grid: point, by, method, noising, pairs, pairs_done (where the model does the\n"
    "task clearly), caution, clean_difference, corrupt_difference, correlation, cells[{layer, "
    "item,\n"
    "position, token, difference, recovered, recovered_low, recovered_high, attribution,\n"
    "attribution_low, attribution_high}]; of a path: from, to, into, difference, recovered; else:\n"
    "task, caution (null: the task is clear), clean_difference, corrupt_difference,\n"
    "clean_next{id, token, probability} and corrupt_next{...} (the likeliest after each text),\n"
    "answer{id, token}, wrong{id, token}, heads[{head, layer, index, difference, recovered,\n"
    "reliable}].";

Options make_options() {
  Options options(
      {.name = "patch",
       .summary = "Which heads carry the difference between two texts.",
       .positional = "MODEL",
       .details = kDetails,
       .examples = {"headlight patch runs/toy --clean \"Mina could not find her red key. She "
                    "looked under the table, but there was no red\" --corrupt \"Mina could not "
                    "find her red hat. She looked under the table, but there was no red\" "
                    "--answer \" key\" --wrong \" hat\"",
                    "headlight patch runs/toy --pairs pairs.jsonl --point resid_pre --by position "
                    "--method both --svg stream.svg"}});
  add_pair_options(options);
  options
      .value("point", "What is replaced: z, resid_pre, attn_out, mlp_out, q, pattern, mlp_post ...",
             "z")
      .value("by",
             "Parts: layer, head, position or head,position; default: head, or position of a "
             "point without heads")
      .value("layers", "Only these layers, as 3 or 4-8")
      .value("positions", "Only these positions, as 3 or 4-8")
      .value("method", "patch, attribution or both", "patch")
      .value("path", "Path patching, as FROM:TO.q: 0.4:3.1.k")
      .value("limit", "Rows of the table of a grid; 0: all", "20")
      .value("svg", "Also draw a heat map to this file")
      .flag("noising", "Read the clean text with values of the corrupt one");
  add_intervene_options(options);
  return options;
}

std::string heat_map(const PatchingResult& result, const GptConfig& config) {
  MatrixPlot plot{.title = "Recovered by each head", .row_title = "layer", .column_title = "head"};
  for (Index layer = 0; layer < config.n_layer; ++layer) {
    plot.rows.push_back(std::to_string(layer));
  }
  Index columns = 0;  // numbers of heads go further than heads where some were pruned
  for (const HeadPatch& patch : result.heads) {
    columns = std::max(columns, patch.head.head + 1);
  }
  for (Index head = 0; head < columns; ++head) {
    plot.columns.push_back(std::to_string(head));
  }
  plot.values.assign(plot.rows.size() * plot.columns.size(),
                     std::numeric_limits<double>::quiet_NaN());
  for (const HeadPatch& patch : result.heads) {
    plot.values[static_cast<std::size_t>(patch.head.layer * columns + patch.head.head)] =
        patch.recovered;
  }
  plot.limit = 1;
  plot.doubtful = result.strength() != TaskStrength::clear;
  plot.note = result.strength() == TaskStrength::none
                  ? "The model does not do this task: these are shares of nothing"
              : plot.doubtful ? "The model hardly does this task: the shares may be chance"
                              : "";
  return matrix_plot_svg(plot);
}

std::string caution_of(const PatchingResult& result, const PatchingTask& task,
                       const Tokenizer& tokenizer) {
  return patching_caution(result, display_label(tokenizer.token_label(task.answer)),
                          display_label(tokenizer.token_label(task.wrong)));
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
            {"caution", caution.empty() ? Json() : Json(caution)},
            {"clean_difference", result.clean_difference},
            {"corrupt_difference", result.corrupt_difference},
            {"clean_next", next_json(result.clean_next, tokenizer)},
            {"corrupt_next", next_json(result.corrupt_next, tokenizer)},
            {"answer", token_json(task.answer, tokenizer)},
            {"wrong", token_json(task.wrong, tokenizer)},
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

// "' Anna' (0.93)"
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
  const std::string answer = display_label(tokenizer.token_label(task.answer));
  const std::string wrong = display_label(tokenizer.token_label(task.wrong));
  std::cout << "logit of '" << answer << "' less that of '" << wrong << "': clean "
            << signed_number(result.clean_difference, 3) << ", corrupt "
            << signed_number(result.corrupt_difference, 3) << "\n"
            << "likeliest next token: clean " << next_text(result.clean_next, tokenizer)
            << ", corrupt " << next_text(result.corrupt_next, tokenizer) << "\n\n";
  Table table({{"head", true}, {"difference", false}, {"recovered", false}});
  for (const HeadPatch& patch : result.heads) {
    table.add({head_name(patch.head), signed_number(patch.difference, 3),
               signed_number(patch.recovered, 3) + (caution.empty() ? "" : " ?")});
  }
  std::cout << table.text();
}

int run(const Options& options) {
  const bool is_grid = asks_for_grid(options);
  const LoadedModel loaded = load_model(options.positional());
  intervene(options, loaded);
  if (is_grid) {
    patch_and_show_grid(options, loaded, pair_options(options, loaded));
    return 0;
  }
  if (options.given("path")) {
    show_path(options, loaded, task_option(options, loaded));
    return 0;
  }
  const PatchingTask task = task_option(options, loaded);
  const PatchingResult result = patch_heads(*loaded.model, task);
  if (options.given("svg")) {
    write_file(output_file(options, "svg", ".svg"), heat_map(result, loaded.model->config()));
  }
  if (options.json()) {
    print_json(json_of(result, task, *loaded.tokenizer));
  } else {
    print(result, task, *loaded.tokenizer);
  }
  return 0;
}

}  // namespace

int run_patch(const std::vector<std::string>& arguments) {
  return run_command(make_options(), arguments, run);
}

}  // namespace headlight::cli
