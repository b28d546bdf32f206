#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>

#include "base/strings/printable.h"
#include "cli/commands.h"
#include "cli/option_groups/chat_template_option.h"
#include "cli/option_groups/interventions.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/launched.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/terminal.h"
#include "cli/token_report.h"
#include "formats/adapter/adapter.h"
#include "headlight/datasets/dataset_parts.h"
#include "headlight/formats/arrays/npz.h"
#include "headlight/formats/run_layout.h"
#include "headlight/generate/weights.h"
#include "headlight/runs/config_source.h"
#include "headlight/runs/seen_text.h"
#include "headlight/train/evaluation.h"
#include "headlight/train/preference_tuning.h"
#include "runs/conversations/conversations.h"
#include "runs/preference_reference.h"
#include "show/report/parts/json_output.h"

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
           "Conversations and prompts with completions are read as headlight train reads them: "
           "the loss is that of the answers (--learn). Pairs of answers have the loss of "
           "preference tuning (DPO) against --reference, the share of pairs whose preferred answer "
           "gained more than the other (accuracy), the mean gain (margin), and the share of pairs "
           "whose preferred answer is likelier for the model itself (likelier).\n\n"
           "--per_token prints the log-probability of every token (in nats; the loss is minus "
           "its mean), its rank (1: the most probable token) and the entropy of the "
           "prediction. The first token of a stream or document has no values. --view text "
           "prints the text in colours, the default on a terminal unless NO_COLOR is set. "
           "--view table prints a row for each token.\n\n"
           "--logits writes an archive for numpy.load: tokens and targets [N] (ids of every "
           "input and of the token after it), logits [N, V], and offsets (row where each block "
           "begins).\n\n"
           "JSON keys: loss (nats per token), perplexity, bits_per_byte (null if the text has "
           "characters that the tokenizer cannot encode), tokens, bytes. Pairs of answers: loss, "
           "accuracy, margin, likelier, pairs, tokens. With --per_token "
           "these are in the last line. Each line before it is one token: document (with "
           "--documents), position, id, token, logprob, rank, entropy (null for a first token).",
       .examples = {
           "headlight eval runs/toy --data data/toy.txt --documents blank_line",
           "headlight eval runs/toy --data book.txt --json",
           "headlight eval runs/cards --data data/cards_held_out.jsonl",
           "headlight eval runs/preferred --data pairs.jsonl --reference toy-chat",
           "headlight eval runs/toy --data book.txt --per_token --limit 500",
           "headlight eval runs/toy --data book.txt --per_token --json > tokens.jsonl",
           "headlight eval gpt2_dir --data data/val.bin --max_batches 2 --logits out.npz"}});
  add_text_data_options(options);
  add_window_option(options);
  add_intervene_options(options);
  add_chat_template_option(options);
  options
      .choice("learn", "Tokens of conversations that count: assistant, last or all",
              kChoiceNames<Learn>, "assistant")
      .value("reference",
             "Pairs of answers: the model before its training (default: the base of an adapter, "
             "the start of a run, else the model itself)")
      .value("dpo_beta", "Pairs of answers: weight of the margin, as in headlight train", "0.1");
  options.value("logits", "Also write the logits at every position to this .npz file")
      .choice("weights", "Round the weight matrices to this format before the evaluation",
              kChoiceNames<WeightFormat>, "float32")
      .flag("per_token", "Also print the log-probability of every token, in nats")
      .choice("layout",
              "Layout of the --per_token output (default: text on a terminal, else table)", kViews)
      .value("limit", "--per_token: show only the first N tokens; 0: all", "0")
      .value("max_batches", "Use this number of batches, spread evenly over the data; 0: all", "0");
  options.refused("view", "is now called --layout");
  options.paths({"logits", "reference"}).basic({"weights", "per_token", "max_batches"});
  return options;
}

Json json_of(const Evaluation& result) {
  if (result.pairs > 0) {
    return {{"loss", result.loss},     {"accuracy", result.accuracy},
            {"margin", result.margin}, {"likelier", result.likelier},
            {"pairs", result.pairs},   {"tokens", result.tokens}};
  }
  return {{"loss", result.loss},
          {"perplexity", result.perplexity},
          {"bits_per_byte", result.bytes > 0 ? Json(result.bits_per_byte) : Json()},
          {"tokens", result.tokens},
          {"bytes", result.bytes}};
}

std::string text_of(const Evaluation& result) {
  if (result.pairs > 0) {
    return fmt::format(
        "loss           {:.4f} of preference tuning\npreferred      {:.1f} % of {} pairs\n"
        "margin         {:.4f}\nlikelier       {:.1f} %\ntokens         {}\n",
        result.loss, 100 * result.accuracy, result.pairs, result.margin, 100 * result.likelier,
        result.tokens);
  }
  const bool has_bytes = result.bytes > 0;
  return fmt::format("loss           {:.4f} nats a token\nperplexity     {:.4f}\n", result.loss,
                     result.perplexity) +
         (has_bytes ? fmt::format("bits per byte  {:.4f}\n", result.bits_per_byte) : "") +
         fmt::format("tokens         {}{}\n", result.tokens,
                     has_bytes ? fmt::format(" ({} bytes)", result.bytes) : "");
}

std::optional<TokenReport::Options> report_options(const Options& options) {
  if (!options.given("per_token")) {
    refuse_options(options, {"layout", "limit"}, "needs --per_token");
  }
  require(!options.given("layout") || !options.json(), "--layout: cannot be combined with --json");
  if (!options.given("per_token")) {
    return std::nullopt;
  }
  const bool coloured =
      options.given("layout") ? options.text("layout") == "text" : has_colours(Stream::output);
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

// Reads the files of conversations as headlight train does, and removes them from `files`.
std::vector<TokenDataset> take_conversations(const Options& options, const LoadedModel& loaded,
                                             std::vector<TextFile>& files) {
  const std::string key = options.text("jsonl");
  const auto first_chat =
      std::stable_partition(files.begin(), files.end(), [&](const TextFile& file) {
        return kind_of_conversations(file, key) == ConversationKind::none;
      });
  const std::vector<TextFile> chats(first_chat, files.end());
  files.erase(first_chat, files.end());
  if (chats.empty()) {
    refuse_options(options, {"learn", "chat_template"}, "the data has no conversations");
    return {};
  }
  const Tokenizer& tokenizer = *loaded.tokenizer;
  const ChatFormat format(chat_template_option(options, tokenizer), tokenizer);
  const ConversationOptions reading{.learn = options.chosen<Learn>("learn"),
                                    .key = key,
                                    .block_size = loaded.model->block_size(),
                                    .begin = begin_option(options)};
  std::vector<TokenDataset> parts;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
  for (const TextFile& file : chats) {
    parts.push_back(read_conversations(file, reading, format, tokenizer, notes, warnings));
  }
  std::ranges::for_each(notes, log_info);
  log_warnings(warnings);
  return parts;
}

// Reads texts, token ids and conversations.
TokenDataset read_eval_data(const Options& options, const LoadedModel& loaded) {
  require(options.given("data"), "--data: expected a text file");
  text_format(options);  // rejects invalid options before it looks for files
  const std::vector<TextFile> all = find_texts(options.texts("data"), "val.bin");
  std::vector<TextFile> files = all;
  std::vector<TokenDataset> parts = take_conversations(options, loaded, files);
  for (const TextFile& file : files) {
    if (const std::string line = warning_of_texts(file); !line.empty() && !options.given("jsonl")) {
      log_warning(line);
    }
  }
  if (!files.empty()) {
    parts.push_back(read_text_data(options, files, *loaded.tokenizer));
  }
  if (const std::string seen = seen_in_training(options.positional(), all); !seen.empty()) {
    log_warning(seen);
  }
  return join_datasets(std::move(parts), document_ends(*loaded.tokenizer, begin_option(options)));
}

// Returns the model that pairs of answers are compared with: --reference, the base of an adapter,
// or the start of a run. None: the model itself.
std::unique_ptr<Gpt> load_reference(const Options& options) {
  if (options.given("reference")) {
    const std::string reference = options.text("reference");
    return load_weights(reference,
                        {.base = base_option(options, reference), .progress = loading_bar()});
  }
  const std::filesystem::path model = options.positional();
  if (is_adapter(find_model_directory(model))) {
    return load_weights(
        model, {.adapter = false, .base = base_option(options, model), .progress = loading_bar()});
  }
  if (std::filesystem::exists(model / kRunReference)) {
    const std::filesystem::path start = start_of_run(model);
    log_info(concat_text("the reference is the start of the run, ", shown(start)));
    return load_weights(start, {.base = read_run_config(model).base, .progress = loading_bar()});
  }
  log_info(
      "the reference is the model itself, so that no pair gains and the loss is log 2; name the "
      "model before its training with --reference");
  return nullptr;
}

Evaluation evaluate_pairs(const Options& options, const LoadedModel& loaded,
                          const TokenDataset& dataset, const EvaluationOptions& evaluation) {
  const double beta = options.number("dpo_beta");
  require_value(beta > 0, "dpo_beta", "expected a number above 0, got ", beta);
  refuse_options(options, {"per_token", "logits", "intervene"},
                 "is not supported with pairs of answers");
  const std::unique_ptr<Gpt> reference = load_reference(options);
  return evaluate_preferences(*loaded.model, reference ? *reference : *loaded.model, beta, dataset,
                              evaluation);
}

// Returns the progress bar; none where tokens scroll by on a terminal.
std::function<void(double)> evaluation_bar(bool prints_tokens) {
  if (prints_tokens && is_terminal(Stream::output)) {
    return [](double) {};
  }
  return progress_bar("evaluating");
}

void eval_command(const Options& options) {
  const WeightFormat format = options.chosen<WeightFormat>("weights");
  const std::optional<TokenReport::Options> report = report_options(options);
  const LoadedModel loaded = load_windowed_model(options.positional(), options);
  round_weights(*loaded.model, format);
  intervene(options, loaded);
  const TokenDataset dataset = read_eval_data(options, loaded);
  const EvaluationOptions evaluation{.batch_size = count_option(options, "batch_size", 1),
                                     .block_size = 0,
                                     .max_batches = count_option(options, "max_batches", 0),
                                     .processes = &all_processes(),
                                     .progress = evaluation_bar(report.has_value())};
  const bool leads = evaluation.processes->leads();
  if (!dataset.pairs) {
    refuse_options(options, {"reference", "dpo_beta"}, "the data has no pairs of answers");
  }
  if (options.given("logits") && leads && !dataset.pairs) {
    write_npz(output_file(options, "logits", ".npz"),
              evaluation_logits(*loaded.model, dataset, evaluation));
  }
  if (report.has_value() && !leads && !dataset.pairs) {
    return;  // process 0 evaluates the tokens in order
  }
  const Evaluation result = dataset.pairs ? evaluate_pairs(options, loaded, dataset, evaluation)
                            : report.has_value()
                                ? evaluate_and_show_tokens(loaded, dataset, evaluation, *report)
                                : evaluate(*loaded.model, *loaded.tokenizer, dataset, evaluation);
  require(std::isfinite(result.loss), options.positional(),
          ": the loss is not a number: the weights are too large");
  std::cout << (options.json() ? json_line(json_of(result)) : text_of(result));
}

}  // namespace

int run_eval(const Words& words) { return run(eval_options(), words, eval_command); }

}  // namespace headlight::cli
