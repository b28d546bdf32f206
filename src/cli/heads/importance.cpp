#include <algorithm>
#include <iostream>
#include <numeric>

#include "base/transformed.h"
#include "cli/commands.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/result_files.h"
#include "headlight/interpret/effects/ablation.h"
#include "headlight/interpret/effects/importance.h"
#include "show/report/effect_grids.h"
#include "show/report/parts/interval_text.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/table.h"

namespace headlight::cli {
namespace {

constexpr const char* kImportanceDetails =
    "Measures the importance of each head for the loss on a text in three ways, in nats per "
    "token:\n\n"
    "  sensitivity   absolute derivative of a sequence's summed loss by a gate on the head,\n"
    "                summed over sequences and divided by the number of tokens, so that\n"
    "                sequences count by their tokens (Michel et al., arXiv 1905.10650);\n"
    "                normalised: divided by the root of the sum of squares over the layer\n"
    "  taylor        linear estimate of the rise of the loss without the head\n"
    "                (Molchanov et al., arXiv 1611.06440)\n"
    "  ablation      measured rise of the loss without the head (headlight ablate)\n\n"
    "Below the table is the agreement of the three rankings (Spearman's rank correlation). "
    "--no_ablation leaves out the third measure, which needs half as many forward passes as "
    "the model has heads. Intervals over fewer than 10 sequences are too narrow: the first "
    "line says so, and figures are marked ?.\n\n"
    "JSON keys: caution (null: none), loss, sequences, tokens, heads[{head, layer, index, "
    "sensitivity{mean, low, high}, normalized, taylor{...}, ablation{...}}], "
    "rank_correlation{sensitivity_taylor, sensitivity_ablation, taylor_ablation}.";

Options importance_options() {
  Options options(
      {.name = "importance",
       .summary = "Rank attention heads by their importance for the loss, in three ways.",
       .positional = "MODEL",
       .details = kImportanceDetails,
       .examples = {"headlight importance runs/toy --data book.txt",
                    "headlight importance runs/toy --data data/toy.txt --documents "
                    "blank_line --no_ablation"}});
  add_text_data_options(options);
  add_window_option(options);
  add_result_options(options);
  options.flag("no_ablation", "Leave out the ablation, which takes many forward passes");
  options.basic({"no_ablation"});
  return options;
}

// Three measures of every head, in the order of HeadId.
struct Measures {
  ImportanceResult gates;
  std::vector<HeadEffect> effects;  // empty: not measured
};

template <class Head>
std::vector<double> means_of(const std::vector<Head>& heads, Interval Head::*measure) {
  return transformed(heads, [=](const Head& head) { return (head.*measure).mean; });
}

Json correlations(const Measures& measures) {
  const auto sensitivity = means_of(measures.gates.heads, &HeadImportance::sensitivity);
  const auto taylor = means_of(measures.gates.heads, &HeadImportance::taylor);
  const auto ablation = means_of(measures.effects, &HeadEffect::rise);
  Json json{{"sensitivity_taylor", rank_correlation(sensitivity, taylor)}};
  if (!measures.effects.empty()) {
    json["sensitivity_ablation"] = rank_correlation(sensitivity, ablation);
    json["taylor_ablation"] = rank_correlation(taylor, ablation);
  }
  return json;
}

Json json_of(const Measures& measures) {
  Json json{{"caution", text_or_null(few_documents_caution(measures.gates.sequences))},
            {"loss", measures.gates.loss},
            {"sequences", measures.gates.sequences},
            {"tokens", measures.gates.tokens},
            {"heads", Json::array()},
            {"rank_correlation", correlations(measures)}};
  for (std::size_t i = 0; i < measures.gates.heads.size(); ++i) {
    const HeadImportance& head = measures.gates.heads[i];
    Json entry = head_json(head.head);
    entry["sensitivity"] = interval_json(head.sensitivity);
    entry["normalized"] = head.normalized;
    entry["taylor"] = interval_json(head.taylor);
    if (!measures.effects.empty()) {
      entry["ablation"] = interval_json(measures.effects[i].rise);
    }
    json["heads"].push_back(entry);
  }
  return json;
}

std::string text_of(const Measures& measures) {
  std::vector<Table::Column> columns{
      {"head", true}, {"sensitivity", false}, {"normalised", false}, {"taylor (95 %)", true}};
  if (!measures.effects.empty()) {
    columns.push_back({"ablation (95 %)", true});
  }
  const std::vector<double> by = means_of(measures.gates.heads, &HeadImportance::sensitivity);
  std::vector<std::size_t> order(by.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return by[i]; });
  Table table(columns);
  const std::string doubt = measures.gates.sequences < kEnoughDocuments ? " ?" : "";
  for (const std::size_t i : order) {
    const HeadImportance& head = measures.gates.heads[i];
    std::vector<std::string> cells{
        head_name(head.head), fixed_number(head.sensitivity.mean, 4) + doubt,
        fixed_number(head.normalized, 3), change_text(head.taylor, measures.gates.sequences)};
    if (!measures.effects.empty()) {
      cells.push_back(change_text(measures.effects[i].rise, measures.gates.sequences));
    }
    table.add(cells);
  }
  std::string text =
      loss_heading(measures.gates.loss, measures.gates.tokens, measures.gates.sequences) +
      table.text() + "\nrank correlation";
  const Json agreement = correlations(measures);
  for (const auto& [names, value] : agreement.members()) {
    std::string pair = names;
    std::ranges::replace(pair, '_', '/');
    text += "  " + pair + " " + fixed_number(value.number(), 2);
  }
  return text + "\n";
}

void importance_command(const Options& options) {
  const ResultFiles files(options);
  const Index batch_size = count_option(options, "batch_size", 1);
  const LoadedModel loaded = load_windowed_model(options.positional(), options);
  const TokenDataset data = read_text_data(options, *loaded.tokenizer);
  Measures measures{
      head_importance(*loaded.model, data,
                      {.batch_size = batch_size, .progress = progress_bar("gradients of heads")}),
      {}};
  if (!options.given("no_ablation")) {
    measures.effects =
        ablate_heads(*loaded.model, data,
                     {.batch_size = batch_size, .progress = progress_bar("ablating heads")})
            .heads;
  }
  const std::vector<ResultGrid> grids = importance_grids(measures.gates, measures.effects);
  files.write(grids, [&]() -> ResultPage {
    return {.title = "Importance of each head for the loss",
            .note = concat_text("The loss is ", fixed_number(measures.gates.loss, 4),
                                " nats a token over ", measures.gates.tokens, " tokens."),
            .grids = grids};
  });
  std::cout << (options.json() ? json_line(json_of(measures)) : text_of(measures));
}

}  // namespace

int run_importance(const Words& words) {
  return run(importance_options(), words, importance_command);
}

}  // namespace headlight::cli
