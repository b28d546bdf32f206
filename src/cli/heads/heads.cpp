#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iostream>

#include "base/strings/split.h"
#include "base/transformed.h"
#include "cli/commands.h"
#include "cli/heads/heads_over_time.h"
#include "cli/option_groups/interventions.h"
#include "cli/option_groups/prompt_tokens.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/launched.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/result_files.h"
#include "cli/terminal/terminal.h"
#include "headlight/datasets/text_dataset.h"
#include "headlight/datasets/token_file.h"
#include "show/report/heads_report.h"
#include "show/report/parts/json_output.h"

namespace headlight::cli {
namespace {

constexpr const char* kIntroduction =
    "Scores every attention head on a text and classifies it. A score is the mean over the "
    "queries for which its pattern exists; 1 means that the head does nothing else. Without "
    "--text and --data, all scores are measured on repeated random tokens.\n\n"
    "'induction' is always measured on repeated random tokens. 'copying' and 'k_composition' "
    "come from the weight matrices alone, without norms, biases and MLPs.\n\n"
    "Bidirectional models (BERT) need a text. Queries then see both sides: entropy, spread, "
    "mean_distance (to either side), confidence and sparsity are over all keys. Scores that "
    "have a meaning only with a causal mask are null: offset_share, induction, copying, "
    "k_composition, near, phrase, and every score ending in _ahead.\n";

constexpr const char* kEvidence =
    "A verdict is settled if the 95 % interval of its score ('by' in the table) is on one side "
    "of the threshold. The interval is the bootstrap's over 10 or more documents, and at least "
    "Hoeffding's for the number of measured positions otherwise. Other verdicts are marked ?.\n\n";

constexpr const char* kFiles =
    "--out DIR also writes heads.json, heads.csv, heads.npz, redundancy.svg and "
    "k_composition.svg. heads.npz holds heads [heads, 2] (layer and number), every column as "
    "an array [heads], NAME.interval [heads, 2], offset_shares [heads, T], js_distance, and "
    "k_composition_matrix of all_heads. Files hold all heads; --filter and --sort affect the "
    "output only. Intervals are of 95 % (bootstrap over documents, or the blocks of one "
    "document).\n\n"
    "--annotations takes a file such as data/toy.annotations.jsonl, with the positions of "
    "quotes, brackets, subjects, names and phrases in the documents. Pairs of any other name, "
    "as \"modifier\": [[0, 3, 4, 7]], become the scores NAME and NAME_ahead.\n\n"
    "JSON keys: model_fingerprint, sequences, tokens, random_tokens, caution (null: all "
    "verdicts are settled), heads[{head, layer, index, verdict, verdict_score, "
    "verdict_measure, verdict_interval{low, high}, verdict_places, settled, sentence, every "
    "score (null: not measured), best_offset, k_source, intervals{score{low, high}}}], "
    "layers[{layer, entropy (nats), mean_distance, confidence, "
    "sparsity}], even_weights{score} (of a head with uniform attention), clusters, "
    "cluster_threshold, compared_queries, files.\n\n"
    "--over_time reads no text. It shows heads.jsonl of a run trained with --track_heads N, "
    "with the training loss, and writes heads_over_time.svg into the run directory or --out. "
    "--columns chooses the scores. JSON keys then: iterations, loss, first_copy_loss, "
    "second_copy_loss, in_context, scores{score{head[]}}, births[{score, head, threshold, "
    "settled, iteration, loss, in_context}], files, caution (null: none). A birth is settled "
    "if the head's best score is above the threshold even for the fewest measured positions.";

std::string scores_help() {
  std::string text = "\nScores:\n\n";
  for (const ScoreInfo& info : score_list()) {
    text += fmt::format("  {:<16} {}\n", info.name, info.meaning);
  }
  return text;
}

std::string verdicts_help() {
  std::string text =
      "\nVerdict: the highest score that reaches its threshold, in the first group with such a "
      "score.\n\n";
  int rank = 0;
  for (const VerdictRule& rule : verdict_rules()) {
    text += rule.rank > rank ? "\n" : "";
    rank = rule.rank;
    text += fmt::format("  {:<16} ", rule.name) +
            (rule.scores.empty()
                 ? "no score reaches its threshold\n"
                 : fmt::format("{} >= {:.2f}\n", fmt::join(rule.scores, " or "), rule.threshold));
  }
  return text + "\n";
}

Options heads_options() {
  Options options(
      {.name = "heads",
       .summary = "Score and classify every attention head.",
       .positional = "MODEL",
       .details = kIntroduction + scores_help() + verdicts_help() + kEvidence + kFiles,
       .examples = {
           "headlight heads runs/toy --data data/toy.txt --documents blank_line",
           "headlight heads runs/toy",
           "headlight heads runs/toy --text \"the cat sat. the cat ran.\" --sort induction",
           "headlight heads runs/toy --data data/toy.txt --documents blank_line --annotations "
           "data/toy.annotations.jsonl --out toy-heads",
           "headlight heads runs/toy --data book.txt --filter \"induction>0.5\" --columns "
           "head,induction,k_composition,k_source",
           "headlight heads runs/induction --over_time"}});
  options.value("text", "Score the heads on this text, instead of --data");
  add_ids_option(options);
  add_text_data_options(options);
  add_window_option(options);
  add_intervene_options(options);
  options
      .value("annotations",
             "JSON Lines file with known pairs of positions in the documents of --data")
      .choice("units", "Score the text by tokens, or merge their weights to characters or words",
              kChoiceNames<TextUnit>, "token")
      .value("heads", "Heads to score, e.g. 0.1,2.3 (default: all)")
      .value("max_tokens", "Use only the first N tokens of each document; 0: all", "0")
      .value("columns", "Columns to show, separated by commas: head, verdict, any score ...")
      .value("sort", "Sort by this column in descending order")
      .flag("ascending", "Sort in ascending order")
      .value("filter", "Show only matching heads, e.g. induction>0.5,layer>=2,verdict=induction")
      .value("repeats", "Number of sequences of repeated random tokens; 0: none", "16")
      .value("repeat_length", "Number of random tokens in each repeated part", "64")
      .value("redundancy", "Compare all pairs of heads on this number of documents; 0: none", "16")
      .value("cluster_below",
             "Cluster heads whose mean Jensen-Shannon distance is below this (0 to 1)", "0.2")
      .flag("over_time", "Show the scores recorded by a run with --track_heads")
      .flag("no_weight_scores", "Leave out the scores copying and k_composition")
      .flag("exclude_first_token", "Leave out the first token; other weights then sum to 1")
      .value("resamples", "Number of bootstrap resamples; 0: no intervals", "1000")
      .value("seed", "Seed of the bootstrap and the random tokens", "1337")
      .choice("lang", "Language of tables and sentences", kChoiceNames<Language>, "en")
      .value("out", "Write heads.json, .csv, .npz and figures to this directory");
  options.refused("by", "is now called --units");
  options.paths({"annotations", "out"})
      .basic({"text", "heads", "columns", "sort", "filter", "over_time", "out"});
  return options;
}

struct HeadsText {
  std::vector<std::vector<std::int32_t>> sequences;
  std::vector<SequencePairs> annotations;
};

HeadsText read_text(const Options& options, const LoadedModel& loaded) {
  const Tokenizer& tokenizer = *loaded.tokenizer;
  const Index window = loaded.model->block_size();
  const bool of_text = gives_text(options);
  require(!of_text || !options.given("data"), "expected either --text or --data");
  if (of_text) {
    return {{text_tokens(options, "text", tokenizer)}, {}};
  }
  text_format(options);  // rejects invalid options before it looks for files
  std::vector<TextFile> files = find_texts(options.texts("data"));
  if (options.given("annotations")) {
    hold_standard_input(files);  // the annotations need it again
  }
  TokenDataset data = read_text_data(options, files, tokenizer);
  const bool of_documents = data.documents;
  const std::int32_t window_begin = data.window_begin;
  const DocumentEnds ends = document_ends(tokenizer, begin_option(options));
  const bool has_begin = of_documents ? ends.begin.has_value() : window_begin >= 0;
  if (!loaded.model->config().causal && !options.given("annotations")) {
    return {token_ids(whole_sequences(std::move(data), loaded.model->config(), tokenizer)), {}};
  }
  HeadsText text{
      loaded.model->config().causal ? input_ids(std::move(data)) : token_ids(std::move(data)), {}};
  if (options.given("annotations")) {
    const std::vector<std::string> documents = read_documents(files, text_format(options));
    text.annotations = read_annotations(options.text("annotations"), documents, tokenizer,
                                        has_begin ? 1 : 0, of_documents);
    require(text.annotations.size() == text.sequences.size(),
            "--annotations: expected --documents or a single file, got ", documents.size(),
            " files as one stream");
  } else {
    text.sequences = cut_windows(std::move(text.sequences), window_begin, window);
  }
  return text;
}

RepeatOptions repeat_options(const Options& options, const Tokenizer& tokenizer, Index vocabulary) {
  RepeatOptions repeats = repeats_of_text(tokenizer, vocabulary);
  repeats.sequences = count_option(options, "repeats", 0, kMostSamples);
  repeats.length = count_option(options, "repeat_length", 1);
  repeats.seed = seed_option(options);
  return repeats;
}

HeadScoreOptions score_options(const Options& options) {
  // Scores of a changed model must not carry the model's fingerprint.
  HeadScoreOptions result{.fingerprint = !options.given("intervene")};
  if (options.given("heads")) {
    result.heads = HeadSet::parse(options.text("heads"));
  }
  result.batch_size = count_option(options, "batch_size", 1);
  result.max_tokens = count_option(options, "max_tokens", 0);
  result.weight_scores = !options.given("no_weight_scores");
  result.exclude_first_token = options.given("exclude_first_token");
  result.bootstrap.resamples = count_option(options, "resamples", 0, kMostSamples);
  result.bootstrap.seed = seed_option(options);
  result.unit = options.chosen<TextUnit>("units");
  result.processes = &all_processes();
  return result;
}

std::vector<ScoredHead> chosen_heads(const Options& options, const HeadScores& scores) {
  RowChoice choice{.filter = options.text("filter"), .ascending = options.given("ascending")};
  if (options.given("sort")) {
    choice.sort = options.text("sort");
  }
  return transformed(chosen_rows(head_table(scores.heads, scores.list), choice),
                     [&](std::size_t row) { return scores.heads[row]; });
}

// Throws Error for unknown columns, and for filters and orders that do not fit them.
void check_columns(const Options& options, const std::vector<SequencePairs>& annotations) {
  const std::vector<ScoreInfo> list = score_list_with(annotations);
  columns_called(head_table({}, list), options.given("columns") ? options.text("columns") : "head");
  chosen_heads(options, {.heads = {}, .list = list});
}

HeadsReport make_report(const Options& options, HeadScoreOptions scoring,
                        const LoadedModel& loaded) {
  HeadsReport report;
  report.language = options.chosen<Language>("lang");
  const RedundancyOptions redundancy{.heads = scoring.heads,
                                     .documents = count_option(options, "redundancy", 0),
                                     .threshold = options.number("cluster_below")};
  if (redundancy.documents > 0) {
    scoring.redundancy = redundancy;
  }
  report.threshold = redundancy.threshold;
  require(redundancy.threshold >= 0 && redundancy.threshold <= 1,
          "--cluster_below: expected a distance from 0 to 1, got ", redundancy.threshold);
  scoring.repeats = repeat_options(options, *loaded.tokenizer, loaded.model->config().vocab_size);
  report.random_tokens = !gives_text(options) && !options.given("data");
  HeadsText text = report.random_tokens
                       ? HeadsText{repeated_sequences(scoring.repeats, loaded.model->config()), {}}
                       : read_text(options, loaded);
  check_columns(options, text.annotations);
  scoring.annotations = std::move(text.annotations);
  scoring.tokenizer = loaded.tokenizer.get();
  scoring.progress = progress_bar("scoring heads");
  report.scores = score_heads(*loaded.model, text.sequences, scoring);
  return report;
}

std::string text_of(const Options& options, const HeadsReport& report,
                    const std::vector<ScoredHead>& heads) {
  const bool names_columns = options.given("columns");
  const ResultTable all = head_table(heads, report.scores.list, report.language);
  return heads_text(
      report, heads,
      {.columns = columns_called(
           all, names_columns ? options.text("columns") : default_columns(report.scores))},
      {.width = names_columns || !is_terminal(Stream::output) ? 0 : columns_of(Stream::output),
       .colour = has_colours(Stream::output),
       .legend = !names_columns});
}

// Throws Error for options that need others.
void check_needs(const Options& options) {
  require(options.given("sort") || !options.given("ascending"), "--ascending: needs --sort");
  if (count_option(options, "redundancy", 0) == 0) {
    refuse_options(options, {"cluster_below"}, "needs --redundancy");
  }
  if (count_option(options, "repeats", 0, kMostSamples) == 0) {
    refuse_options(options, {"repeat_length"}, "needs --repeats");
  }
}

// Throws Error for options that need --data.
void check_heads_text_options(const Options& options) {
  if (!options.given("data")) {
    refuse_options(options, {"annotations", "documents"}, "needs --data");
  }
  if (!gives_text(options) && !options.given("data")) {
    refuse_options(options, {"units"}, "needs --text or --data");
  }
  // Annotations count characters, and a special token replaces the characters of its name.
  require(!options.given("annotations") || !special_tokens_option(options),
          "--annotations: cannot be combined with --special_tokens on");
}

// Throws Error for options that choose or change the scores: --over_time shows recorded ones.
void check_over_time(const Options& options) {
  constexpr const char* kOfModels =
      "text,ids,data,heads,units,filter,sort,ascending,intervene,scores,annotations,max_tokens,"
      "repeats,repeat_length,redundancy,cluster_below,no_weight_scores,exclude_first_token,"
      "resamples,seed";
  for (const std::string& name : split_at_commas(kOfModels)) {
    require(!options.given(name), "--", name, ": cannot be combined with --over_time");
  }
}

void heads_command(const Options& options) {
  if (options.given("over_time")) {
    check_over_time(options);
    show_heads_over_time(options);
    return;
  }
  check_needs(options);
  check_heads_text_options(options);
  if (!options.given("annotations")) {  // else their relations are columns, too
    check_columns(options, {});
  }
  const HeadScoreOptions scoring = score_options(options);
  const LoadedModel loaded =
      load_windowed_model(options.positional(), options, Attention::any, true);
  intervene(options, loaded);
  const HeadsReport report = make_report(options, scoring, loaded);
  if (!scoring.processes->leads()) {
    return;
  }
  const std::vector<ScoredHead> heads = chosen_heads(options, report.scores);
  std::vector<std::string> files;
  if (options.given("out")) {
    files = write_report(report, options.text("out"));
  }
  if (options.json()) {
    Json json = report_json(report, heads);
    json["files"] = files;
    print_json(json);
    log_warnings(cluster_warnings(report));
  } else {
    std::cout << text_of(options, report, heads) << written_text(files);
  }
}

}  // namespace

int run_heads(const Words& words) { return run(heads_options(), words, heads_command); }

}  // namespace headlight::cli
