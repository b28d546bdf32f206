#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <iostream>
#include <optional>

#include "cli/commands.h"
#include "cli/terminal/interventions.h"
#include "cli/terminal/launched.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/text_data.h"
#include "cli/token_report.h"
#include "headlight/generate/weights.h"
#include "headlight/io/npz.h"
#include "headlight/runs/seen_text.h"
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
  options.value("logits", "Also write the logits at every position to this .npz file")
      .choice("weights", "Round the weight matrices to this format before the evaluation",
              kChoiceNames<WeightFormat>, "float32")
      .flag("per_token", "Also print the log-probability of every token, in nats")
      .choice("view", "Layout of the --per_token output (default: text on a terminal, else table)",
              kViews)
      .value("limit", "--per_token: show only the first N tokens; 0: all", "0")
      .value("max_batches", "Use this number of batches, spread evenly over the text; 0: all", "0");
  options.paths({"logits"}).basic({"weights", "per_token", "max_batches"});
  return options;
}

Json json_of(const Evaluation& result) {
  return {{"loss", result.loss},
          {"perplexity", result.perplexity},
          {"bits_per_byte", result.bytes > 0 ? Json(result.bits_per_byte) : Json()},
          {"tokens", result.tokens},
          {"bytes", result.bytes}};
}

std::string text_of(const Evaluation& result) {
  const bool knows_bytes = result.bytes > 0;
  return fmt::format("loss           {:.4f} nats a token\nperplexity     {:.4f}\n", result.loss,
                     result.perplexity) +
         (knows_bytes ? fmt::format("bits per byte  {:.4f}\n", result.bits_per_byte) : "") +
         fmt::format("tokens         {}{}\n", result.tokens,
                     knows_bytes ? fmt::format(" ({} bytes)", result.bytes) : "");
}

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

void eval_command(const Options& options) {
  const WeightFormat format = options.chosen<WeightFormat>("weights");
  const std::optional<TokenReport::Options> report = report_options(options);
  const LoadedModel loaded = load_windowed_model(options.positional(), options);
  round_weights(*loaded.model, format);
  intervene(options, loaded);
  const TokenDataset dataset = read_text_data(options, *loaded.tokenizer, "data", "val.bin");
  if (const std::string seen =
          seen_in_training(options.positional(), find_text_files(options.texts("data"), "val.bin"));
      !seen.empty()) {
    log_warning(seen);
  }
  const EvaluationOptions evaluation{.batch_size = count_option(options, "batch_size", 1),
                                     .block_size = 0,
                                     .max_batches = count_option(options, "max_batches", 0),
                                     .processes = &all_processes()};
  const bool leads = evaluation.processes->leads();
  if (options.given("logits") && leads) {
    write_npz(output_file(options, "logits", ".npz"),
              evaluation_logits(*loaded.model, dataset, evaluation));
  }
  if (report.has_value() && !leads) {
    return;  // process 0 evaluates the tokens in order
  }
  const Evaluation result = report.has_value()
                                ? evaluate_and_show_tokens(loaded, dataset, evaluation, *report)
                                : evaluate(*loaded.model, *loaded.tokenizer, dataset, evaluation);
  require(std::isfinite(result.loss), options.positional(),
          ": the loss is not a number: the weights are too large");
  std::cout << (options.json() ? json_line(json_of(result)) : text_of(result));
}

}  // namespace

int run_eval(const Words& words) { return run(eval_options(), words, eval_command); }

}  // namespace headlight::cli
