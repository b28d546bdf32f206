#include <cmath>
#include <sstream>

#include "base/share.h"
#include "cli/commands.h"
#include "cli/option_groups/text_data.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "formats/token_settings.h"
#include "headlight/interpret/prune.h"
#include "headlight/interpret/prune_plan.h"
#include "headlight/train/evaluation.h"
#include "headlight/train/trainer.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/table.h"
#include "show/report/prune_report.h"

namespace headlight::cli {
namespace {

constexpr const char* kPruneDetails =
    "Writes a smaller model without some heads. --heads names the heads. --keep 50% (or a "
    "number of heads) and --until_loss +0.02 (nats per token, or 2%) choose them on a text: "
    "the least important head is removed repeatedly, and the loss is measured each time. Every "
    "layer keeps at least one head.\n\n"
    "DIR gets the model and pruning.json. If heads are chosen on a text, it also gets "
    "curve.csv and curve.svg, the loss against the number of heads. Their last entry is the "
    "head whose removal exceeded --until_loss and which was therefore kept. --finetune_iters N "
    "trains the pruned model for N steps of AdamW on the text, or on --finetune_data, before "
    "writing it.\n\n"
    "The result works in every command. Remaining heads keep their numbers, also after export. "
    "headlight export --to hf writes the equivalent full-size model.\n\n"
    "JSON keys: heads (removed, in order), kept, kept_heads, parameters, parameters_before, "
    "directory, curve[{kept, loss, removed}], loss_before, loss_after, loss_finetuned (null: "
    "not measured).";

Options prune_options() {
  Options options(
      {.name = "prune",
       .summary = "Remove attention heads and write the smaller model.",
       .positional = "MODEL",
       .details = kPruneDetails,
       .examples = {"headlight prune runs/toy --heads 0.1,1.0 --out small",
                    "headlight prune runs/toy --keep 50% --data book.txt --out half",
                    "headlight prune runs/toy --until_loss +0.02 --data book.txt --out small "
                    "--finetune_iters 200"}});
  add_text_data_options(options);
  options.value("heads", "Remove these heads, e.g. 0.1,2.3 or 0:1;2:3")
      .value("keep", "Keep this number of heads, or this share, e.g. 50%")
      .value("until_loss", "Stop before the loss rises by more: +0.02 (nats per token) or 2%")
      .choice("criterion", "Rank heads by this measure (sensitivity is faster)",
              kChoiceNames<PruneRanking>, "ablation")
      .value("rounds", "Number of pruning rounds; the remaining heads are ranked again in each",
             "8")
      .value("finetune_iters", "Fine-tune for this number of steps after pruning; 0: do not", "0")
      .values("finetune_data", "Fine-tune on these texts instead of --data")
      .value("learning_rate",
             "Initial learning rate of the fine-tuning, which falls to a tenth of it", "3e-4")
      .value("seed", "Seed of the batches for the fine-tuning", "1337")
      .value("out", "Write to this directory, which must not exist");
  options.refused("by", "is now called --criterion");
  options.paths({"finetune_data", "out"})
      .basic({"heads", "keep", "until_loss", "finetune_iters", "out"});
  return options;
}

// Value of an option: a number, or a share of `whole` like "50%".
double part_of(const Options& options, const std::string& name, double whole) {
  const std::string text = options.text(name);
  const bool percent = text.ends_with('%');
  std::istringstream stream(percent ? text.substr(0, text.size() - 1) : text);
  double value = 0;
  stream >> value;
  require(!text.empty() && !stream.fail() && stream.eof() && std::isfinite(value), "--", name,
          ": expected a number or a share like 50%, got '", text, "'");
  return percent ? value / 100 * whole : value;
}

void check_choice(const Options& options) {
  const bool found = options.given("keep") || options.given("until_loss");
  require(options.given("heads") != found,
          "expected either --heads, or --keep or --until_loss with --data");
  require(options.given("out"), "--out: expected a directory to write");
  require(options.given("data") || !found, "--data: expected a text file to rank heads on");
  const bool finetunes = options.integer("finetune_iters") != 0;
  require(options.given("data") || options.given("finetune_data") || !finetunes,
          "--data: expected a text file to fine-tune on");
  if (!finetunes) {
    refuse_options(options, {"finetune_data", "learning_rate", "seed"}, "needs --finetune_iters");
  }
  if (!found) {
    refuse_options(options, {"criterion", "rounds"}, "needs --keep or --until_loss");
  }
}

// Throws Error if the directory exists or cannot be made. Call it before the work.
void require_new_directory(const std::filesystem::path& path) {
  require(!std::filesystem::exists(path), path.string(),
          ": exists already, expected a new directory");
  require(!path.has_parent_path() || std::filesystem::is_directory(path.parent_path()),
          path.string(), ": its parent directory ", path.parent_path().string(), " does not exist");
}

double loss_on(const Gpt& model, const Tokenizer& tokenizer, const TokenDataset& data,
               const Options& options) {
  return evaluate(model, tokenizer, data,
                  {.batch_size = count_option(options, "batch_size", 1),
                   .progress = progress_bar("evaluating")})
      .loss;
}

PrunePlan find_plan(const LoadedModel& loaded, const TokenDataset& data, const Options& options) {
  const auto heads = static_cast<double>(HeadSet::all(loaded.model->heads()).size());
  PrunePlanOptions plan{.ranking = options.chosen<PruneRanking>("criterion"),
                        .rounds = count_option(options, "rounds", 1),
                        .batch_size = count_option(options, "batch_size", 1),
                        .progress = progress_bar("choosing heads")};
  if (options.given("keep")) {
    const double keep = part_of(options, "keep", heads);
    require(options.text("keep").ends_with('%') || keep == std::floor(keep),
            "--keep: expected a whole number or a share like 50%, got ", options.text("keep"));
    require(keep >= 0 && keep <= heads, "--keep: expected at most ", heads, " heads, got ",
            options.text("keep"));
    constexpr double kRounding = 1e-9;  // so that 28% of 25 is 7, not 8
    plan.keep = static_cast<Index>(std::ceil(keep - kRounding));
    if (const Index layers = loaded.model->config().n_layer; plan.keep < layers) {
      log_warning(concat_text("--keep ", options.text("keep"), ": every layer keeps one head, so ",
                              layers, " stay"));
    }
  }
  if (options.given("until_loss")) {
    const double loss = loss_on(*loaded.model, *loaded.tokenizer, data, options);
    plan.largest_rise = part_of(options, "until_loss", loss);
  }
  return plan_pruning(*loaded.model, data, plan);
}

void finetune(Gpt& model, const TokenDataset& data, const Options& options, Index updates) {
  TrainConfig config;
  config.batching = data.documents ? "bucketed" : "packed";
  config.batch_size = count_option(options, "batch_size", 1);
  config.block_size = model.config().block_size;
  config.learning_rate = options.number("learning_rate");
  require(config.learning_rate > 0, "--learning_rate: expected a number above 0, got ",
          config.learning_rate);
  config.warmup_iters = 0;
  config.max_iters = updates;
  config.seed = options.integer("seed");
  Trainer trainer(config, model, data);
  const auto progress = progress_bar("fine-tuning");
  for (Index i = 0; i < updates; ++i) {
    const StepMetrics metrics = trainer.step();
    progress(share_of(i + 1, updates));
    if ((i + 1) % 100 == 0 || i + 1 == updates) {
      log_info("fine-tuning " + std::to_string(i + 1) + "/" + std::to_string(updates) + ": loss " +
               fixed_number(metrics.loss, 4));
    }
  }
}

PruneOutcome prune(const LoadedModel& loaded, const Options& options) {
  PruneOutcome outcome;
  std::optional<TokenDataset> data;
  if (options.given("data")) {
    data = read_text_data(options, *loaded.tokenizer);
  }
  if (options.given("heads")) {
    const HeadSet heads = HeadSet::parse(options.text("heads"));
    outcome.plan.heads.assign(heads.begin(), heads.end());
  } else {
    outcome.plan = find_plan(loaded, *data, options);
  }
  outcome.model = prune_heads(*loaded.model, outcome.plan.heads);
  if (data) {
    outcome.losses["loss_before"] = loss_on(*loaded.model, *loaded.tokenizer, *data, options);
    outcome.losses["loss_after"] = loss_on(*outcome.model, *loaded.tokenizer, *data, options);
  }
  const Index updates = count_option(options, "finetune_iters", 0);
  if (updates == 0) {
    return outcome;
  }
  const bool other = options.given("finetune_data");
  finetune(*outcome.model,
           other ? read_text_data(options, *loaded.tokenizer, "finetune_data") : *data, options,
           updates);
  if (data) {
    outcome.losses["loss_finetuned"] = loss_on(*outcome.model, *loaded.tokenizer, *data, options);
  }
  return outcome;
}

void prune_command(const Options& options) {
  check_choice(options);
  const std::string out = options.text("out");
  require_new_directory(out);
  const LoadedModel loaded = load_text_model(options.positional(), options);
  const PruneOutcome outcome = prune(loaded, options);
  Json json = prune_json(outcome, loaded);
  write_pruned(out, outcome, loaded, json);
  if (const std::string line = dropped_settings(loaded.directory, *loaded.tokenizer);
      !line.empty()) {
    log_warning(line);
  }
  json["directory"] = out;
  if (options.json()) {
    print_json(json);
  } else {
    print_pruning(json, outcome.plan.points, out);
  }
}

}  // namespace

int run_prune(const Words& words) { return run(prune_options(), words, prune_command); }

}  // namespace headlight::cli
