#include "headlight/interpret/prune.h"

#include <cmath>

#include "base/share.h"
#include "formats/token_settings.h"
#include "headlight/formats/model_directory.h"
#include "headlight/interpret/prune_plan.h"
#include "headlight/show/plot/line_plot.h"
#include "headlight/storage/atomic_directory.h"
#include "headlight/storage/file_writer.h"
#include "headlight/train/evaluation.h"
#include "headlight/train/trainer.h"
#include "questions/question.h"
#include "questions/text_parameters.h"
#include "show/report/parts/json_output.h"

namespace headlight {
namespace {

constexpr const char* kPruneDetails =
    "Writes a smaller model without some heads: those of heads, or those that keep 50% (or a "
    "number of heads) and until_loss +0.02 (nats per token, or 2%) choose on a text: "
    "the least important head is removed repeatedly, and the loss is measured each time. Every "
    "layer keeps at least one head.\n\n"
    "The folder gets the model and pruning.json. If heads are chosen on a text, it also gets "
    "curve.csv and curve.svg, the loss against the number of heads. Their last entry is the "
    "head whose removal exceeded until_loss and which was therefore kept. finetune_iters "
    "trains the pruned model for that many steps of AdamW on the text, or on finetune_data, before "
    "writing it.\n\n"
    "The result works in every command. Remaining heads keep their numbers, also after export. "
    "headlight export --to hf writes the equivalent full-size model.";

PrunePlan find_plan(const Asker& asker, const Arguments& arguments, const Json& loss) {
  const auto heads = static_cast<double>(HeadSet::all(asker.model.heads()).size());
  PrunePlanOptions plan{.ranking = arguments.chosen<PruneRanking>("criterion"),
                        .rounds = arguments.integer("rounds"),
                        .batch_size = arguments.integer("batch_size"),
                        .progress = asker.part(0.1, 0.7)};
  if (arguments.given("keep")) {
    const std::string text = arguments.amount_text("keep");
    const double keep = arguments.amount("keep", heads);
    require_value(text.ends_with('%') || keep == std::floor(keep), "keep",
                  "expected a whole number or a share like 50%, got ", text);
    require_value(keep >= 0 && keep <= heads, "keep", "expected at most ", heads, " heads, got ",
                  text);
    constexpr double kRounding = 1e-9;  // so that 28% of 25 is 7, not 8
    plan.keep = static_cast<Index>(std::ceil(keep - kRounding));
    if (const Index layers = asker.model.config().n_layer; plan.keep < layers) {
      asker.warn(concat_text("keep ", text, ": every layer keeps one head, so ", layers, " stay"));
    }
  }
  if (arguments.given("until_loss")) {
    plan.largest_rise = arguments.amount("until_loss", loss.number());
  }
  return plan_pruning(asker.model, asker.data.at("data"), plan);
}

void finetune(Gpt& model, const TokenDataset& data, const Asker& asker,
              const Arguments& arguments) {
  const Index updates = arguments.integer("finetune_iters");
  TrainConfig config;
  config.batching = data.documents ? "bucketed" : "packed";
  config.batch_size = arguments.integer("batch_size");
  config.gpt.block_size = model.config().block_size;
  config.learning_rate = arguments.number("learning_rate");
  config.warmup_iters = 0;
  config.max_iters = updates;
  config.seed = arguments.integer("seed");
  Trainer trainer(config, model, data);
  const auto progress = asker.part(0.8, 0.9);
  trainer.fit([&](const StepMetrics& metrics) {
    const Index done = metrics.iteration + 1;
    progress(share_of(done, updates));
    if (done % 100 == 0 || done == updates) {
      asker.inform(concat_text("fine-tuning ", done, "/", updates, ": loss ",
                               fixed_number(metrics.loss, 4)));
    }
    return true;
  });
}

ResultTable curve_table(const std::vector<PrunePoint>& points, Index kept) {
  const ColumnsOf of_points{points};
  const auto label = [&](const PrunePoint& point) {
    const std::string back = point.kept < kept ? " (put back)" : "";
    return point.removed ? head_name(*point.removed) + back : "";
  };
  return {.columns = {of_points.hidden("label", label, "removed"),
                      of_points("kept", &PrunePoint::kept, "heads"),
                      of_points("loss", &PrunePoint::loss, "loss").as(NumberForm::plain, 4),
                      of_points("removed", &PrunePoint::removed)}};
}

std::string curve_csv(const std::vector<PrunePoint>& points) {
  std::string csv = "kept,loss,removed\n";
  for (const PrunePoint& point : points) {
    csv += concat_text(point.kept, ",", fixed_number(point.loss, 9), ",",
                       point.removed ? head_name(*point.removed) : "", "\n");
  }
  return csv;
}

std::string curve_svg(const std::vector<PrunePoint>& points) {
  PlotSeries series;
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    series.x.push_back(static_cast<double>(point->kept));
    series.y.push_back(point->loss);
  }
  return line_plot_svg({.title = "Loss by number of remaining heads",
                        .x_label = "heads",
                        .y_label = "loss (nats a token)",
                        .series = {series},
                        .points = points.size() <= 64});
}

// Writes the model, pruning.json and the curve (if the plan has one) to a new folder.
void write_pruned(const std::string& out, const QuestionResult& result, const PrunePlan& plan,
                  const Tokenizer& tokenizer) {
  AtomicDirectory directory(out);
  write_model_files(directory.path(), *result.model, tokenizer);
  write_file(directory.path() / "pruning.json", json_of(result, "curve").dump(1) + "\n");
  if (!plan.points.empty()) {
    write_file(directory.path() / "curve.csv", curve_csv(plan.points));
    write_file(directory.path() / "curve.svg", curve_svg(plan.points));
  }
  directory.commit();
}

QuestionResult result_of(const Asker& asker, const PrunePlan& plan, std::unique_ptr<Gpt> model,
                         const Json& losses) {
  const HeadSet kept = HeadSet::all(model->heads());
  QuestionResult result{
      .title = "Pruning",
      .heading = concat_text("removed ", counted(std::ssize(plan.heads), "head"), ", kept ",
                             kept.size(), "; ", model->parameter_count(), " parameters instead of ",
                             asker.model.parameter_count(), "\n"),
      .facts = {{"heads", head_names(plan.heads)},
                {"kept", kept.size()},
                {"kept_heads", head_names(kept)},
                {"parameters", model->parameter_count()},
                {"parameters_before", asker.model.parameter_count()}},
      .tables = {curve_table(plan.points, std::ssize(kept))}};
  for (const JsonMember& loss : losses.members()) {
    result.heading +=
        loss.value.is_null() ? "" : loss.key + " " + fixed_number(loss.value.number(), 4) + "\n";
  }
  result.facts.update(losses);
  result.model = std::move(model);
  return result;
}

QuestionResult prune(const Asker& asker, const Arguments& arguments) {
  Json losses{{"loss_before", nullptr}, {"loss_after", nullptr}, {"loss_finetuned", nullptr}};
  const auto measure = [&](const std::string& name, const Gpt& model, double begin, double end) {
    if (arguments.given("data")) {
      losses[name] = evaluate(model, asker.tokenizer, asker.data.at("data"),
                              {.batch_size = arguments.integer("batch_size"),
                               .progress = asker.part(begin, end)})
                         .loss;
    }
  };
  measure("loss_before", asker.model, 0, 0.1);
  PrunePlan plan;
  if (arguments.given("heads")) {
    const HeadSet heads = HeadSet::parse(arguments.text("heads"));
    plan.heads.assign(heads.begin(), heads.end());
  } else {
    plan = find_plan(asker, arguments, losses["loss_before"]);
  }
  std::unique_ptr<Gpt> model = prune_heads(asker.model, plan.heads);
  measure("loss_after", *model, 0.7, 0.8);
  if (arguments.integer("finetune_iters") > 0) {
    const char* data = arguments.given("finetune_data") ? "finetune_data" : "data";
    finetune(*model, asker.data.at(data), asker, arguments);
    measure("loss_finetuned", *model, 0.9, 1);
  }
  QuestionResult result = result_of(asker, plan, std::move(model), losses);
  if (const std::string out = arguments.text("out"); !out.empty() && asker.leads()) {
    write_pruned(out, result, plan, asker.tokenizer);
    result.warnings = {dropped_settings(find_model_directory(asker.source), asker.tokenizer)};
    std::erase(result.warnings, "");
    result.facts["directory"] = out;
    result.footing = (plan.points.empty() ? "wrote " : "\nwrote ") + escaped(out) + "\n";
  }
  return result;
}

void check_prune(const Arguments& arguments) {
  const std::string_view dash = arguments.prefix();
  require(arguments.given("heads") || arguments.given("keep") || arguments.given("until_loss"),
          "expected either ", dash, "heads, or ", dash, "keep or ", dash, "until_loss with ", dash,
          "data");
  require_value(arguments.given("data") || arguments.given("finetune_data") ||
                    arguments.integer("finetune_iters") == 0,
                "data", "expected texts to fine-tune on");
  require_value(arguments.number("learning_rate") > 0, "learning_rate",
                "expected a number above 0, got ", arguments.number("learning_rate"));
  const std::filesystem::path out = arguments.text("out");
  require(!std::filesystem::exists(out), out.string(),
          ": exists already, expected a new directory");
  const std::filesystem::path parent = out.parent_path();
  require(parent.empty() || std::filesystem::is_directory(parent), out.string(),
          ": its parent directory ", parent.string(), " does not exist");
}

std::vector<Parameter> prune_parameters() {
  std::vector<Parameter> all = text_data_parameters("heads");
  for (Parameter& parameter : all) {
    parameter.needs = {};  // they may be of finetune_data
  }
  all.front().is_required = true;
  all.front().unless = "heads";
  Parameter heads = heads_parameter();
  heads.excludes = {"keep", "until_loss", "criterion", "rounds"};
  all.push_back(std::move(heads));
  return with(std::move(all),
              {{.name = "keep",
                .help = "Keep this number of heads, or this share, e.g. 50%",
                .kind = ValueKind::amount,
                .is_basic = true},
               {.name = "until_loss",
                .help = "Stop before the loss rises by more: +0.02 (nats per token) or 2%",
                .kind = ValueKind::amount,
                .is_basic = true},
               {.name = "criterion",
                .help = "Rank heads by this measure (sensitivity is faster)",
                .kind = ValueKind::name,
                .fallback = name_of(PruneRanking::ablation),
                .choices = choices_of<PruneRanking>(),
                .former = {"by"}},
               {.name = "rounds",
                .help = "Number of pruning rounds; the remaining heads are ranked again in each",
                .kind = ValueKind::integer,
                .fallback = 8,
                .least = 1},
               {.name = "finetune_iters",
                .help = "Fine-tune for this number of steps after pruning; 0: do not",
                .kind = ValueKind::integer,
                .fallback = 0,
                .least = 0,
                .is_basic = true},
               {.name = "finetune_data",
                .help = "Fine-tune on these texts instead of data",
                .kind = ValueKind::data,
                .needs = {"finetune_iters"}},
               {.name = "learning_rate",
                .help = "Initial learning rate of the fine-tuning, which falls to a tenth of it",
                .kind = ValueKind::number,
                .fallback = 3e-4,
                .needs = {"finetune_iters"}},
               seed_parameter({"finetune_iters"}),
               {.name = "out",
                .help = "Write to this directory, which must not exist",
                .kind = ValueKind::output,
                .is_required = true,
                .is_basic = true}});
}

}  // namespace

const Question& prune_question() {
  static const Question question{
      .name = "prune",
      .summary = "Remove attention heads and write the smaller model.",
      .details = kPruneDetails,
      .examples = {"headlight prune runs/toy --heads 0.1,1.0 --out small",
                   "headlight prune runs/toy --keep 50% --data book.txt --out half",
                   "headlight prune runs/toy --until_loss +0.02 --data book.txt --out small "
                   "--finetune_iters 200"},
      .parameters = prune_parameters(),
      .facts = {{"heads", "removed, in order"},
                {"kept, kept_heads", "the heads that remain"},
                {"parameters, parameters_before", "of both models"},
                {"loss_before, loss_after, loss_finetuned", "null: not measured"},
                {"directory", "the folder of the new model"}},
      .rows = "curve",
      .columns = {{"kept, loss", "number of heads and their loss"},
                  {"removed", "the head removed in this step"}},
      .has_ranked_rows = false,
      .makes_model = true,
      .positional = {"heads"},
      .check = check_prune,
      .answer = prune};
  return question;
}

}  // namespace headlight
