#include <algorithm>

#include "base/transformed.h"
#include "headlight/interpret/effects/ablation.h"
#include "headlight/interpret/effects/importance.h"
#include "questions/question.h"
#include "questions/text_parameters.h"
#include "show/report/parts/interval_text.h"
#include "show/report/parts/json_output.h"

namespace headlight {
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
    "no_ablation leaves out the third measure, which needs half as many forward passes as "
    "the model has heads. Intervals over fewer than 10 sequences are too narrow: the first "
    "line says so, and figures are marked ?.";

// Three measures of every head, in the order of HeadId.
struct Measures {
  ImportanceResult gates;
  std::vector<Interval> effects;  // of ablation; empty: not measured
};

template <class Head>
std::vector<double> means_of(const std::vector<Head>& heads, Interval Head::*measure) {
  return transformed(heads, [=](const Head& head) { return (head.*measure).mean; });
}

Json correlations(const Measures& measures) {
  const auto sensitivity = means_of(measures.gates.heads, &HeadImportance::sensitivity);
  const auto taylor = means_of(measures.gates.heads, &HeadImportance::taylor);
  const auto ablation = transformed(measures.effects, &Interval::mean);
  Json json{{"sensitivity_taylor", rank_correlation(sensitivity, taylor)}};
  if (!measures.effects.empty()) {
    json["sensitivity_ablation"] = rank_correlation(sensitivity, ablation);
    json["taylor_ablation"] = rank_correlation(taylor, ablation);
  }
  return json;
}

ResultTable head_table(const Measures& measures) {
  const ColumnsOf of_heads{measures.gates.heads};
  const auto id = [](Index HeadId::*number) {
    return [=](const HeadImportance& head) { return head.head.*number; };
  };
  const auto sensitivity = [](const HeadImportance& head) { return head.sensitivity.mean; };
  ResultTable table{
      .columns = {of_heads("head", &HeadImportance::head, "head"),
                  of_heads("layer", id(&HeadId::layer)), of_heads("index", id(&HeadId::head)),
                  of_heads.hidden("mean", sensitivity, "sensitivity").as(NumberForm::plain, 4)},
      .ranking = Ranking::highest,
      .ranked_by = "sensitivity"};
  const auto add = [&](ResultColumn column, const char* title) {
    column.decimals = 4;
    column.is_object = true;
    table.views.push_back({column.name, column.name, title, kLayerAxis, kHeadAxis});
    table.columns.push_back(std::move(column));
  };
  add(of_heads("sensitivity", &HeadImportance::sensitivity),
      "Sensitivity of the loss to each head");
  table.columns.push_back(
      of_heads("normalized", &HeadImportance::normalized, "normalised").as(NumberForm::plain, 3));
  add(of_heads("taylor", &HeadImportance::taylor, "taylor (95 %)"),
      "Rise of the loss without each head, by its gradient");
  if (!measures.effects.empty()) {
    add({.name = "ablation", .values = measures.effects, .title = "ablation (95 %)"},
        "Rise of the loss without each head");
  }
  for (ResultColumn& column : table.columns) {
    column.is_doubtful = column.name != "normalized" && measures.gates.sequences < kEnoughDocuments;
  }
  return table;
}

std::string agreement_text(const Measures& measures) {
  std::string text = "\nrank correlation";
  const Json agreement = correlations(measures);
  for (const auto& [names, value] : agreement.members()) {
    std::string pair = names;
    std::ranges::replace(pair, '_', '/');
    text += "  " + pair + " " + fixed_number(value.number(), 2);
  }
  return text + "\n";
}

QuestionResult importance(const Asker& asker, const Arguments& arguments) {
  const Index batch_size = arguments.integer("batch_size");
  const TokenDataset& data = asker.data.at("data");
  const bool ablates = !arguments.flag("no_ablation");
  Measures measures{
      head_importance(asker.model, data,
                      {.batch_size = batch_size, .progress = asker.part(0, ablates ? 0.3 : 1)}),
      {}};
  if (ablates) {
    measures.effects = ablate(asker.model, data, each_part(asker.model, PartKind::head),
                              {.batch_size = batch_size,
                               .memory = memory_of(arguments),
                               .progress = asker.part(0.3, 1)})
                           .rises;
  }
  const ImportanceResult& gates = measures.gates;
  return {.title = "Importance of each head for the loss",
          .caution = few_documents_caution(gates.sequences),
          .heading = loss_heading(gates.loss, gates.tokens, gates.sequences),
          .facts = {{"loss", gates.loss},
                    {"sequences", gates.sequences},
                    {"tokens", gates.tokens},
                    {"rank_correlation", correlations(measures)}},
          .tables = {head_table(measures)},
          .footing = agreement_text(measures),
          .note = few_documents_caution(gates.sequences)};
}

std::vector<Parameter> importance_parameters() {
  std::vector<Parameter> all = text_data_parameters();
  all.push_back({.name = "no_ablation",
                 .help = "Leave out the ablation, which takes many forward passes",
                 .kind = ValueKind::flag,
                 .is_basic = true});
  Parameter memory = memory_parameter();
  memory.excludes = {"no_ablation"};
  all.push_back(std::move(memory));
  return all;
}

}  // namespace

const Question& importance_question() {
  static const Question question{
      .name = "importance",
      .summary = "Rank attention heads by their importance for the loss, in three ways.",
      .details = kImportanceDetails,
      .examples = {"headlight importance runs/toy --data book.txt",
                   "headlight importance runs/toy --data data/toy.txt --documents blank_line "
                   "--no_ablation"},
      .parameters = importance_parameters(),
      .facts = {{"caution", "null: none"},
                {"loss, sequences, tokens", "of the whole model, and what it read"},
                {"rank_correlation",
                 "{sensitivity_taylor, sensitivity_ablation, taylor_ablation}"}},
      .rows = "heads",
      .columns = {{"head, layer, index", "the head"},
                  {"sensitivity, taylor, ablation", "{mean, low, high}"},
                  {"normalized", "the sensitivity by its layer"}},
      .positional = {"data"},
      .answer = importance};
  return question;
}

}  // namespace headlight
