#include <algorithm>
#include <iostream>
#include <limits>
#include <utility>

#include "base/transformed.h"
#include "cli/ablate/parts.h"
#include "cli/commands.h"
#include "cli/option_groups/prompt_tokens.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/launched.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/result_files.h"
#include "headlight/datasets/text_dataset.h"
#include "headlight/interpret/effects/ablation.h"
#include "headlight/interpret/scores/head_score_file.h"
#include "show/report/effect_grids.h"
#include "show/report/parts/interval_text.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/numbers.h"
#include "show/report/parts/table.h"

namespace headlight::cli {
namespace {

constexpr const char* kAblateDetails =
    "Replaces the output of one head at a time and measures how much the loss on a text rises, "
    "in nats per token, with a 95 % interval. A rise near 0 means that the model does not need "
    "the head.\n\n"
    "  --mode zero       use zeros instead\n"
    "  --mode mean       use the head's mean output over the whole text\n"
    "  --mode resample   use the head's output at the same position of the next document\n\n"
    "Intervals come from a bootstrap over documents, or over the blocks of one document. "
    "Intervals over fewer than 10 sequences are too narrow: the first line says so, and "
    "figures are marked ?.\n\n"
    "Bidirectional models (BERT) predict masked tokens: in each sequence the tokens at positions "
    "1, 8, 15 ... (about 15 %, none special) become [MASK], and the loss is that of these "
    "tokens, all predicted in one pass.\n\n"
    "--pairs K also ablates all pairs among the K most important heads. 'beyond' is the rise "
    "of a pair minus the rises of its heads. Above 0, each head compensates for the loss of "
    "the other.\n\n"
    "--off ablates several parts together, with the names of --intervene (headlight generate "
    "--help all): heads, mlp.3, attn.3, layer.3, neuron.3.17, classes of heads. Each value is a "
    "separate experiment. --each mlp, attn, layer or neuron.3 ablates one such part at a time. "
    "Both "
    "support --mode zero and mean.\n\n"
    "--svg draws the rises: a heat map for heads and --off, a curve over layers for --each, "
    "and over neurons in descending order. --npz holds rise, rise_low and rise_high, of heads "
    "[R, K] with the names layer and head, or of parts [R] with the names part; with --pairs "
    "also pair_rise and pair_beyond with _low and _high and the names first and second.\n\n"
    "--metric measures another number than the loss: rises and the key loss are then of that "
    "number, and a fall of the probability or log_probability means that the model needs the "
    "head. logit_difference is a metric of headlight patch only.\n\n"
    "JSON keys: caution (null: none), metric, loss{mean, low, high}, mode, sequences, tokens, "
    "heads[{head, layer, index, rise{mean, low, high}}], pairs[{heads, rise, beyond}]; with "
    "--off and --each also parts[{name, targets, rise{mean, low, high}}].";

Options ablate_options() {
  Options options(
      {.name = "ablate",
       .summary = "Measure the loss without each attention head, MLP, layer or neuron.",
       .positional = "MODEL",
       .details = kAblateDetails,
       .examples = {"headlight ablate runs/toy --data data/toy.txt --documents "
                    "blank_line",
                    "headlight ablate runs/toy --data book.txt --heads 0.1,1.0",
                    "headlight ablate runs/toy --data book.txt --mode mean --pairs 6",
                    "headlight ablate runs/toy --data book.txt --scores heads/heads.json --scatter "
                    "scatter.svg",
                    "headlight ablate runs/toy --data book.txt --each mlp --svg mlps.svg",
                    "headlight ablate runs/toy --data book.txt --off \"0.1, mlp.1\" layer.1"}});
  add_text_data_options(options);
  add_window_option(options);
  options.value("text", "Measure on this text, instead of --data");
  add_ids_option(options);
  options.value("heads", "Heads to ablate, e.g. 0.1,2.3 or 0:1;2:3 (default: all)")
      .flag("all", "Ablate every head (the default)")
      .choice("mode", "Replacement for a head's output", kChoiceNames<AblationMode>, "zero")
      .choice("metric",
              "Measure the loss, another number of each token to predict, or the divergence from "
              "the whole model's prediction (kl)",
              kChoiceNames<MetricKind>, "loss")
      .value("pairs", "Also ablate all pairs among the N most important heads; 0: none", "0")
      .value("scatter", "Draw --score of the heads against the rise to this .svg file")
      .value("score", "Score of --scores, a file of headlight heads, for --scatter", "induction")
      .value("resamples", "Number of bootstrap resamples", "1000")
      .value("seed", "Seed of the bootstrap", "1337");
  add_result_options(options);
  add_part_options(options);
  options.paths({"scatter"}).basic({"text", "heads", "mode", "pairs"});
  return options;
}

AblationOptions ablation_options(const Options& options) {
  require(!options.given("all") || !options.given("heads"), "expected either --all or --heads");
  AblationOptions result;
  result.mode = options.chosen<AblationMode>("mode");
  result.metric = options.chosen<MetricKind>("metric");
  if (options.given("heads")) {
    result.heads = HeadSet::parse(options.text("heads"));
  }
  result.pair_heads = count_option(options, "pairs", 0);
  result.batch_size = count_option(options, "batch_size", 1);
  result.bootstrap.resamples = count_option(options, "resamples", 1, kMostSamples);
  result.bootstrap.seed = seed_option(options);
  result.processes = &all_processes();
  return result;
}

Json json_of(const AblationResult& result, const AblationOptions& options) {
  Json json{{"caution", text_or_null(few_documents_caution(result.sequences))},
            {"metric", name_of(options.metric)},
            {"loss", interval_json(result.loss)},
            {"mode", name_of(options.mode)},
            {"sequences", result.sequences},
            {"tokens", result.tokens},
            {"heads", Json::array()}};
  for (const HeadEffect& effect : result.heads) {
    Json entry = head_json(effect.head);
    entry["rise"] = interval_json(effect.rise);
    json["heads"].push_back(std::move(entry));
  }
  json["pairs"] = transformed(result.pairs, [](const PairEffect& pair) -> Json {
    return {{"heads", {head_name(pair.first), head_name(pair.second)}},
            {"rise", interval_json(pair.rise)},
            {"beyond", interval_json(pair.beyond)}};
  });
  return json;
}

std::string text_of(AblationResult result, MetricKind metric) {
  const double sign = rises_when_needed(metric) ? 1 : -1;
  std::ranges::stable_sort(result.heads, std::ranges::greater(),
                           [&](const HeadEffect& effect) { return sign * effect.rise.mean; });
  const std::string rise = rise_column(metric);
  Table heads({{"head", true}, {rise, true}});
  for (const HeadEffect& effect : result.heads) {
    heads.add({head_name(effect.head), change_text(effect.rise, result.sequences)});
  }
  const std::string text =
      loss_heading(result.loss.mean, result.tokens, result.sequences, metric) + heads.text();
  if (result.pairs.empty()) {
    return text;
  }
  Table pairs({{"heads", true}, {rise, true}, {"beyond both alone", true}});
  for (const PairEffect& pair : result.pairs) {
    pairs.add({head_name(pair.first) + " " + head_name(pair.second),
               change_text(pair.rise, result.sequences),
               change_text(pair.beyond, result.sequences)});
  }
  return text + "\n" + pairs.text();
}

TokenDataset read_data(const Options& options, const LoadedModel& loaded) {
  if (!gives_text(options)) {
    return read_model_data(options, loaded);
  }
  TokenDataset data = stream_dataset(text_tokens(options, "text", *loaded.tokenizer));
  if (options.given("ids")) {
    data.documents = !loaded.model->config().causal;  // read whole, without more tokens
  } else {
    data = whole_sequences(std::move(data), loaded.model->config(), *loaded.tokenizer);
  }
  require(has_targets(data), options.given("ids") ? "--ids" : "--text",
          ": expected at least two tokens, got ", data.token_count);
  return data;
}

// Throws Error for options of --data if --text or --ids gives the text.
void check_text_options(const Options& options) {
  const bool of_text = gives_text(options);
  require(!of_text || !options.given("data"), "expected either --text or --data");
  if (of_text) {
    refuse_options(
        options, {"documents", "separator", "jsonl", "token_dtype"},
        options.given("ids") ? "cannot be combined with --ids" : "cannot be combined with --text");
  }
}

ResultPage page_of(const AblationResult& result, MetricKind metric, std::vector<ResultGrid> grids) {
  return {.title = concat_text("Rise of the ", metric_noun(metric), " without each part"),
          .note = concat_text("The ", metric_noun(metric), " of the whole model is ",
                              fixed_number(result.loss.mean, 4), metric_unit(metric),
                              " a token over ", counted(result.sequences, "sequence"), "; a ",
                              rises_when_needed(metric) ? "rise" : "fall",
                              " means that the model needs the part."),
          .grids = std::move(grids)};
}

void show_parts(const Options& options, const LoadedModel& loaded, const TokenDataset& data,
                const AblationOptions& ablation, const ResultFiles& files) {
  const PartsReport report = ablate_parts_of(options, loaded, data, ablation);
  if (!ablation.processes->leads()) {
    return;
  }
  const AblationResult whole{.loss = report.result.loss,
                             .heads = {},
                             .pairs = {},
                             .sequences = report.result.sequences,
                             .tokens = report.result.tokens};
  files.write({.svg = [&] { return parts_svg(report, options); },
               .arrays = [&] { return arrays_of({parts_grid(report)}); },
               .page = [&] { return page_of(whole, ablation.metric, {parts_grid(report)}); }});
  if (options.json()) {
    Json json = json_of(whole, ablation);
    json["parts"] = parts_json(report);
    print_json(json);
  } else {
    std::cout << loss_heading(whole.loss.mean, whole.tokens, whole.sequences, ablation.metric)
              << parts_table(report, options);
  }
}

void show_heads(const Options& options, const LoadedModel& loaded, const TokenDataset& data,
                const AblationOptions& ablation, const ResultFiles& files) {
  std::map<HeadId, double> scores;  // read before the long work
  if (options.given("scatter")) {
    HeadScoreColumn column =
        read_head_score(options.text("scores"), *loaded.model, options.text("score"));
    if (!column.doubt.empty()) {
      log_warning(column.doubt);
    }
    scores = std::move(column.scores);
    const auto heads = ablation.heads.or_all(heads_of(*loaded.model));
    require(std::ranges::any_of(heads, [&](const HeadId& id) { return scores.contains(id); }),
            "--scores: expected the score ", options.text("score"), " of a head of --heads");
  }
  AblationOptions shown = ablation;
  shown.progress = progress_bar("ablating heads");
  const AblationResult result = ablate_heads(*loaded.model, data, shown);
  shown.progress = {};
  if (!ablation.processes->leads()) {
    return;
  }
  const std::vector<ResultGrid> grids = ablation_grids(result, ablation.metric);
  files.write(
      grids, [&] { return page_of(result, ablation.metric, grids); },
      [&] {
        return scatter_plot_svg(
            score_scatter(scores, options.text("score"), result.heads, ablation.metric));
      });
  std::cout << (options.json() ? json_line(json_of(result, ablation))
                               : text_of(result, ablation.metric));
}

void ablate_command(const Options& options) {
  AblationOptions ablation = ablation_options(options);
  const bool of_parts = asks_for_parts(options);
  check_text_options(options);
  const ResultFiles files(options);
  const LoadedModel loaded = load_windowed_model(options.positional(), options, Attention::any);
  ablation.masking = masking_for(loaded);
  const TokenDataset data = read_data(options, loaded);
  (of_parts ? show_parts : show_heads)(options, loaded, data, ablation, files);
}

}  // namespace

int run_ablate(const Words& words) { return run(ablate_options(), words, ablate_command); }

}  // namespace headlight::cli
