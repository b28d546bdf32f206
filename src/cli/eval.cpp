#include <cmath>
#include <iomanip>
#include <iostream>
#include <optional>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/terminal/interventions.h"
#include "cli/terminal/launched.h"
#include "cli/terminal/options.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/text_data.h"
#include "cli/token_report.h"
#include "headlight/formats/model_directory.h"
#include "headlight/generate/weights.h"
#include "headlight/io/npz.h"
#include "headlight/train/evaluation.h"
#include "views/report/json_output.h"

namespace headlight::cli {
namespace {

constexpr std::array<std::string_view, 2> kViews{"table", "text"};

Options eval_options() {
  Options options(
      {.name = "eval",
       .summary = "Measure loss, perplexity and bits per byte of a model on a text.",
       .positional = "MODEL",
       .details =
           "Predicts every token of the text once, in blocks of the model's context length. "
           "The loss is the mean over all real tokens. From a folder made by nanoGPT's "
           "prepare.py, val.bin is read.\n\n"
           "--per_token prints the log-probability of every token (in nats; the loss is minus "
           "its mean), its rank (1: the most probable token) and the entropy of the "
           "prediction. The first token of a stream or document has no values. --view text "
           "prints the text in colours, the default on a terminal unless NO_COLOR is set. "
           "--view table prints a row for each token.\n\n"
           "--logits writes an archive for numpy.load: tokens and targets [N] (ids of every "
           "input and of the token after it), logits [N, V], and offsets (row where each block "
           "begins).\n\n"
           "JSON keys: loss (nats per token), perplexity, bits_per_byte (null if the text has "
           "characters that the tokenizer cannot encode), tokens, bytes. With --per_token "
           "these are in the last line. Each line before it is one token: document (with "
           "--documents), position, id, token, logprob, rank, entropy (null for a first token).",
       .examples = {
           "headlight eval runs/toy --data data/toy.txt --documents blank_line",
           "headlight eval runs/toy --data book.txt --json",
           "headlight eval runs/toy --data book.txt --per_token --limit 500",
           "headlight eval runs/toy --data book.txt --per_token --json > tokens.jsonl",
           "headlight eval gpt2_dir --data data/val.bin --max_batches 2 --logits out.npz"}});
  add_text_data_options(options);
  add_window_option(options);
  add_intervene_options(options);
  options.value("logits", "Also write the logits of every token to this .npz file")
      .choice("weights", "Round the matrices to this format first", kChoiceNames<WeightFormat>,
              "float32")
      .flag("per_token", "Also print the log-probability of every token, in nats")
      .choice("view", "Form of --per_token (default: text on a terminal, else table)", kViews)
      .value("limit", "--per_token: show this number of first tokens; 0: all", "0")
      .value("max_batches", "Use this number of batches, spread evenly over the text; 0: all", "0");
  options.paths({"logits"}).basic({"weights", "per_token", "max_batches"});
  return options;
}

void print(const Evaluation& result, bool json) {
  if (json) {
    const bool knows_bytes = result.bytes > 0;
    print_json({{"loss", result.loss},
                {"perplexity", result.perplexity},
                {"bits_per_byte", knows_bytes ? Json(result.bits_per_byte) : Json()},
                {"tokens", result.tokens},
                {"bytes", result.bytes}});
    return;
  }
  std::cout << std::fixed << std::setprecision(4) << "loss           " << result.loss
            << " nats a token\nperplexity     " << result.perplexity << "\n";
  if (result.bytes > 0) {
    std::cout << "bits per byte  " << result.bits_per_byte << "\ntokens         " << result.tokens
              << " (" << result.bytes << " bytes)\n";
  } else {
    std::cout << "tokens         " << result.tokens << "\n";
  }
}

EvaluationOptions evaluation_options(const Options& options) {
  return {.batch_size = count_option(options, "batch_size", 1),
          .block_size = 0,
          .max_batches = count_option(options, "max_batches", 0),
          .processes = &all_processes()};
}

// Options of the token report; none without --per_token.
std::optional<TokenReport::Options> report_options(const Options& options) {
  if (!options.given("per_token")) {
    refuse_options(options, {"view", "limit"}, "needs --per_token");
  }
  require(!options.given("view") || !options.json(), "--view: cannot be combined with --json");
  if (!options.given("per_token")) {
    return std::nullopt;
  }
  const bool coloured =
      options.given("view") ? options.text("view") == "text" : has_colours(Stream::output);
  return TokenReport::Options{.view = options.json() ? TokenView::json
                                      : coloured     ? TokenView::text
                                                     : TokenView::table,
                              .limit = count_option(options, "limit", 0)};
}

Evaluation evaluate_and_show_tokens(const LoadedModel& loaded, const TokenDataset& dataset,
                                    const EvaluationOptions& evaluation,
                                    TokenReport::Options options) {
  options.documents = dataset.documents;
  TokenReport report(*loaded.tokenizer, options);
  const Evaluation result =
      evaluate_tokens(*loaded.model, *loaded.tokenizer, dataset, evaluation,
                      [&](const TokenEvaluation& token) { report.add(token); });
  report.finish();
  return result;
}

int eval_command(const Options& options) {
  const WeightFormat format = options.chosen<WeightFormat>("weights");
  const std::optional<TokenReport::Options> report = report_options(options);
  const LoadedModel loaded = load_windowed_model(options.positional(), options);
  round_weights(*loaded.model, format);
  intervene(options, loaded);
  const TokenDataset dataset = read_text_data(options, *loaded.tokenizer, "data", "val.bin");
  const EvaluationOptions evaluation = evaluation_options(options);
  const bool leads = evaluation.processes->leads();
  if (options.given("logits") && leads) {
    write_npz(output_file(options, "logits", ".npz"),
              evaluation_logits(*loaded.model, dataset, evaluation));
  }
  if (report.has_value() && !leads) {
    return 0;  // process 0 evaluates the tokens in order
  }
  const Evaluation result = report.has_value()
                                ? evaluate_and_show_tokens(loaded, dataset, evaluation, *report)
                                : evaluate(*loaded.model, *loaded.tokenizer, dataset, evaluation);
  require(std::isfinite(result.loss), options.positional(),
          ": the loss is not a number: the weights are too large");
  print(result, options.json());
  return 0;
}

}  // namespace

int run_eval(const std::vector<std::string>& arguments) {
  return run_command(eval_options(), arguments, eval_command);
}

}  // namespace headlight::cli
