#include <algorithm>
#include <iostream>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/terminal/options.h"
#include "cli/terminal/text_data.h"
#include "headlight/heads/ablation.h"
#include "headlight/io/model_directory.h"
#include "views/report/interval_text.h"
#include "views/report/json_output.h"
#include "views/report/numbers.h"
#include "views/report/table.h"

namespace headlight::cli {
namespace {

constexpr const char* kDetails =
    "Replaces the output of one head at a time and tells how much the loss on a text rises, in\n"
    "nats a token, with the interval that 95 % of the resampled means fall into (bootstrap over\n"
    "documents, or the blocks that they are cut into). A rise around 0 means that the model does\n"
    "not miss the head.\n"
    "  --mode zero       nothing takes its place\n"
    "  --mode mean       its mean over the whole text\n"
    "  --mode resample   what it puts out at the same place of the next document\n"
    "--pairs K also ablates all pairs among the K heads that matter most. 'beyond' is what a pair\n"
    "costs more than both heads one by one: above 0, each makes up for the other when one is "
    "gone.\n"
    "MODEL is a run directory, a checkpoint or a Hugging Face directory.\n"
    "Intervals over fewer than 10 sequences are too narrow: the first line says so, and figures\n"
    "are marked ?.\n"
    "JSON keys: caution (null: none), loss{mean, low, high}, mode, sequences, tokens,\n"
    "heads[{head, layer, index, rise{mean, low, high}}], pairs[{heads, rise, beyond}].";

Options make_options() {
  Options options(
      {.name = "ablate",
       .summary = "How much the loss rises without each attention head.",
       .positional = "MODEL",
       .details = kDetails,
       .examples = {"headlight ablate runs/toy --data data/toy.txt --documents "
                    "blank_line",
                    "headlight ablate runs/toy --data book.txt --heads 0.1,2.3",
                    "headlight ablate runs/toy --data book.txt --mode mean --pairs 6"}});
  add_text_data_options(options);
  add_window_option(options);
  options.value("heads", "Heads to ablate, as 0.1,2.3 or 0:1;2:3; all by default")
      .flag("all", "Ablate every head (the default)")
      .value("mode", "What takes the place of a head: " + listed(kChoiceNames<AblationMode>),
             "zero")
      .value("pairs", "Also ablate the pairs among so many heads that matter most", "0")
      .value("resamples", "Draws of the bootstrap", "1000")
      .value("seed", "Of the bootstrap", "1337");
  return options;
}

AblationOptions ablation_options(const Options& options) {
  require(!options.is_set("all") || !options.given("heads"), "expected either --all or --heads");
  AblationOptions result;
  result.mode = parse_name<AblationMode>("mode", options.text("mode"));
  if (options.given("heads")) {
    result.heads = HeadSet::parse(options.text("heads"));
  }
  result.pair_heads = count_option(options, "pairs", 0);
  result.batch_size = count_option(options, "batch_size", 1);
  result.bootstrap.resamples = count_option(options, "resamples", 1, kMostSamples);
  result.bootstrap.seed = seed_option(options);
  return result;
}

Json json_of(const AblationResult& result, AblationMode mode) {
  const std::string caution = few_documents_caution(result.sequences);
  Json json{{"caution", caution.empty() ? Json() : Json(caution)},
            {"loss", interval_json(result.loss)},
            {"mode", name_of(mode)},
            {"sequences", result.sequences},
            {"tokens", result.tokens},
            {"heads", Json::array()},
            {"pairs", Json::array()}};
  for (const HeadEffect& effect : result.heads) {
    Json entry = head_json(effect.head);
    entry["rise"] = interval_json(effect.rise);
    json["heads"].push_back(std::move(entry));
  }
  for (const PairEffect& pair : result.pairs) {
    json["pairs"].push_back({{"heads", {head_name(pair.first), head_name(pair.second)}},
                             {"rise", interval_json(pair.rise)},
                             {"beyond", interval_json(pair.beyond)}});
  }
  return json;
}

void print(AblationResult result) {
  std::stable_sort(
      result.heads.begin(), result.heads.end(),
      [](const HeadEffect& a, const HeadEffect& b) { return a.rise.mean > b.rise.mean; });
  const std::string caution = few_documents_caution(result.sequences);
  std::cout << caution << (caution.empty() ? "" : "\n");
  std::cout << "loss " << fixed_number(result.loss.mean, 4) << " nats a token over "
            << result.tokens << " tokens of "
            << counted(static_cast<std::size_t>(result.sequences), "sequence") << "\n\n";
  Table heads({{"head", true}, {"rise of the loss (95 %)", true}});
  for (const HeadEffect& effect : result.heads) {
    heads.add({head_name(effect.head), change_text(effect.rise, result.sequences)});
  }
  std::cout << heads.text();
  if (result.pairs.empty()) {
    return;
  }
  Table pairs({{"heads", true}, {"rise of the loss (95 %)", true}, {"beyond both alone", true}});
  for (const PairEffect& pair : result.pairs) {
    pairs.add({head_name(pair.first) + " " + head_name(pair.second),
               change_text(pair.rise, result.sequences),
               change_text(pair.beyond, result.sequences)});
  }
  std::cout << "\n" << pairs.text();
}

int run(const Options& options) {
  const AblationOptions ablation = ablation_options(options);
  const LoadedModel loaded = load_windowed_model(options.positional(), options);
  const TokenDataset data = read_text_data(options, *loaded.tokenizer);
  const AblationResult result = ablate_heads(*loaded.model, data, ablation);
  if (options.json()) {
    print_json(json_of(result, ablation.mode));
  } else {
    print(result);
  }
  return 0;
}

}  // namespace

int run_ablate(const std::vector<std::string>& arguments) {
  return run_command(make_options(), arguments, run);
}

}  // namespace headlight::cli
