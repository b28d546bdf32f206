#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/log.h"
#include "cli/numbers.h"
#include "cli/options.h"
#include "cli/table.h"
#include "cli/text_data.h"
#include "headlight/heads/line_plot.h"
#include "headlight/heads/prune.h"
#include "headlight/heads/prune_plan.h"
#include "headlight/io/atomic_directory.h"
#include "headlight/io/file_writer.h"
#include "headlight/io/model_directory.h"
#include "headlight/train/evaluation.h"
#include "headlight/train/trainer.h"

namespace headlight::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDetails =
    "Writes a smaller model that computes what MODEL computes without some heads. Which ones, is\n"
    "given by --heads, or found on a text: --keep 50% (or a number of heads) and --until_loss\n"
    "+0.02 (nats a token, or 2%) remove the least important head, again and again, and measure "
    "the\n"
    "loss each time. Every layer keeps one head. The result works in every command; headlight\n"
    "export --to hf writes the equivalent full-size model.\n"
    "DIR gets the model and pruning.json; when heads are found, also curve.csv and curve.svg,\n"
    "the loss against the heads that are left. They end with the head whose removal went beyond\n"
    "--until_loss and which was put back. --finetune_iters N trains the pruned model on the text, "
    "or "
    "on\n"
    "that of --finetune_data (AdamW, N updates), before it is written.\n"
    "The heads that stay are numbered anew in every layer: kept_heads gives their old names, in\n"
    "order.\n"
    "JSON keys: heads (removed, in order), kept, kept_heads, parameters, parameters_before, "
    "directory,\n"
    "curve[{kept, loss, removed}], loss_before, loss_after, loss_finetuned (null where there is\n"
    "none).";

Options make_options() {
  Options options(
      {.name = "prune",
       .summary = "Remove attention heads and write the smaller model.",
       .positional = "MODEL",
       .details = kDetails,
       .examples = {"headlight prune runs/toy --heads 0.1,2.3 --out small",
                    "headlight prune runs/toy --keep 50% --data book.txt --out half",
                    "headlight prune runs/toy --until_loss +0.02 --data book.txt --out small "
                    "--finetune_iters 200"}});
  add_text_data_options(options);
  options.value("heads", "Heads to remove, as 0.1,2.3 or 0:1;2:3")
      .value("keep", "Heads to keep, as a number or as a share like 50%")
      .value("until_loss", "Stop before the loss rises by more: +0.02 (nats a token) or 2%")
      .value("by", "What ranks heads: ablation, or sensitivity (faster)", "ablation")
      .value("rounds", "How often they are ranked anew", "8")
      .value("finetune_iters", "Updates after pruning", "0")
      .value("finetune_data", "Text of those updates; --data by default")
      .value("learning_rate", "Of those updates, falling to a tenth", "3e-4")
      .value("seed", "Of their batches", "1337")
      .value("out", "Directory to write; must not exist");
  return options;
}

// "50%" of a whole, or the number itself.
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
  for (const char* name : {"finetune_data", "learning_rate", "seed"}) {
    require(finetunes || !options.given(name), "--", name, ": expected --finetune_iters beside it");
  }
  for (const char* name : {"by", "rounds"}) {
    require(found || !options.given(name), "--", name,
            ": expected --keep or --until_loss beside it");
  }
}

// Before the work that it is to hold.
void require_new_directory(const std::filesystem::path& path) {
  require(!std::filesystem::exists(path), path.string(),
          ": exists already, expected a new directory");
  require(!path.has_parent_path() || std::filesystem::is_directory(path.parent_path()),
          path.string(), ": there is no directory ", path.parent_path().string(),
          " for it to be made in");
}

double loss_on(const Gpt& model, const Tokenizer& tokenizer, const TokenDataset& data,
               const Options& options) {
  return evaluate(model, tokenizer, data, {.batch_size = count_option(options, "batch_size", 1)})
      .loss;
}

PrunePlan find_plan(const LoadedModel& loaded, const TokenDataset& data, const Options& options) {
  const auto heads = static_cast<double>(all_heads(loaded.model->config()).size());
  PrunePlanOptions plan{
      .ranking = about_option([&] { return parse_prune_ranking(options.text("by")); }),
      .rounds = count_option(options, "rounds", 1),
      .batch_size = count_option(options, "batch_size", 1)};
  if (options.given("keep")) {
    const double keep = part_of(options, "keep", heads);
    require(options.text("keep").ends_with('%') || keep == std::floor(keep),
            "--keep: expected a whole number or a share like 50%, got ", options.text("keep"));
    require(keep >= 0 && keep <= heads, "--keep: expected up to ", heads, " heads, got ",
            options.text("keep"));
    constexpr double kRounding = 1e-9;  // 28% of 25 is not a hair above 7
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
  return about_option([&] { return plan_pruning(*loaded.model, data, plan); });
}

void finetune(Gpt& model, const TokenDataset& data, const Options& options, Index updates) {
  TrainConfig config;
  config.batching = data.documents ? "bucketed" : "packed";
  config.batch_size = count_option(options, "batch_size", 1);
  config.block_size = model.config().block_size;
  config.learning_rate = options.number("learning_rate");
  require(config.learning_rate > 0, "--learning_rate: expected above 0, got ",
          config.learning_rate);
  config.min_lr = config.learning_rate / 10;
  config.warmup_iters = 0;
  config.max_iters = updates;
  config.lr_decay_iters = updates;
  config.seed = options.integer("seed");
  Trainer trainer(config, model, data);
  for (Index i = 0; i < updates; ++i) {
    const StepMetrics metrics = trainer.step();
    if ((i + 1) % 100 == 0 || i + 1 == updates) {
      log_info("fine-tuning " + std::to_string(i + 1) + "/" + std::to_string(updates) + ": loss " +
               fixed_number(metrics.loss, 4));
    }
  }
}

struct Outcome {
  PrunePlan plan;
  std::unique_ptr<Gpt> model;
  Json losses{{"loss_before", nullptr}, {"loss_after", nullptr}, {"loss_finetuned", nullptr}};
};

Outcome prune(const LoadedModel& loaded, const Options& options) {
  Outcome outcome;
  std::optional<TokenDataset> data;
  if (options.given("data")) {
    data = read_text_data(options, *loaded.tokenizer);
  }
  if (options.given("heads")) {
    outcome.plan.heads = about_option([&] { return parse_heads(options.text("heads")); });
  } else {
    outcome.plan = find_plan(loaded, *data, options);
  }
  outcome.model = about_option([&] { return prune_heads(*loaded.model, outcome.plan.heads); });
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

Json json_of(const Outcome& outcome, const LoadedModel& loaded) {
  Json heads = Json::array();
  for (const HeadId& id : outcome.plan.heads) {
    heads.push_back(head_name(id));
  }
  Json kept_heads = Json::array();
  for (const HeadId& id : all_heads(loaded.model->config())) {
    if (std::find(outcome.plan.heads.begin(), outcome.plan.heads.end(), id) ==
        outcome.plan.heads.end()) {
      kept_heads.push_back(head_name(id));
    }
  }
  Json curve = Json::array();
  for (const PrunePoint& point : outcome.plan.points) {
    curve.push_back({{"kept", point.kept},
                     {"loss", point.loss},
                     {"removed", point.removed ? Json(head_name(*point.removed)) : Json()}});
  }
  Json json{{"heads", heads},
            {"kept", all_heads(outcome.model->config()).size()},
            {"kept_heads", kept_heads},
            {"parameters", outcome.model->parameter_count()},
            {"parameters_before", loaded.model->parameter_count()},
            {"curve", curve}};
  json.update(outcome.losses);
  return json;
}

std::string curve_csv(const std::vector<PrunePoint>& points) {
  std::string csv = "kept,loss,removed\n";
  for (const PrunePoint& point : points) {
    csv += std::to_string(point.kept) + "," + fixed_number(point.loss, 9) + "," +
           (point.removed ? head_name(*point.removed) : "") + "\n";
  }
  return csv;
}

std::string curve_svg(const std::vector<PrunePoint>& points) {
  PlotSeries series;
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    series.x.push_back(static_cast<double>(point->kept));
    series.y.push_back(point->loss);
  }
  return line_plot_svg({.title = "Loss against the heads that are left",
                        .x_label = "heads",
                        .y_label = "loss (nats a token)",
                        .series = {series},
                        .points = points.size() <= 64});
}

void write_files(const std::string& out, const Outcome& outcome, const LoadedModel& loaded,
                 const Json& json) {
  AtomicDirectory directory(out);
  write_model_files(directory.path(), *outcome.model, *loaded.tokenizer);
  write_file(directory.path() / "pruning.json", json.dump(1) + "\n");
  if (!outcome.plan.points.empty()) {
    write_file(directory.path() / "curve.csv", curve_csv(outcome.plan.points));
    write_file(directory.path() / "curve.svg", curve_svg(outcome.plan.points));
  }
  directory.commit();
}

// Heads are numbered from 0 in every layer, so those behind a removed one get other names.
void print_new_names(const Json& kept_heads) {
  std::string changed;
  HeadId next{-1, 0};
  for (const Json& name : kept_heads) {
    const HeadId old = parse_heads(name.get<std::string>()).front();
    next = {old.layer, old.layer == next.layer ? next.head + 1 : 0};
    if (next != old) {
      changed += (changed.empty() ? "" : ", ") + head_name(old) + " is " + head_name(next);
    }
  }
  if (!changed.empty()) {
    std::cout << "numbered anew: " << changed << "\n";
  }
}

void print(const Json& json, const std::vector<PrunePoint>& points, const std::string& out) {
  if (!points.empty()) {
    Table table({{"removed", true}, {"heads", false}, {"loss", false}});
    for (const PrunePoint& point : points) {
      const bool back = point.removed && point.kept < json["kept"].get<Index>();
      table.add({point.removed ? head_name(*point.removed) + (back ? " (put back)" : "") : "",
                 std::to_string(point.kept), fixed_number(point.loss, 4)});
    }
    std::cout << table.text() << "\n";
  }
  std::cout << "removed " << counted(json["heads"].size(), "head") << ", kept " << json["kept"]
            << "; " << json["parameters"] << " parameters instead of " << json["parameters_before"]
            << "\n";
  print_new_names(json["kept_heads"]);
  for (const char* name : {"loss_before", "loss_after", "loss_finetuned"}) {
    if (!json[name].is_null()) {
      std::cout << name << " " << fixed_number(json[name].get<double>(), 4) << "\n";
    }
  }
  std::cout << "wrote " << out << "\n";
}

}  // namespace

int run_prune(const std::vector<std::string>& arguments) {
  Options options = make_options();
  if (!options.parse(arguments)) {
    return 0;
  }
  check_choice(options);
  const std::string out = options.text("out");
  require_new_directory(out);
  const LoadedModel loaded = load_model(options.positional());
  const Outcome outcome = prune(loaded, options);
  Json json = json_of(outcome, loaded);
  write_files(out, outcome, loaded, json);
  json["directory"] = out;
  if (options.json()) {
    print_json(json);
  } else {
    print(json, outcome.plan.points, out);
  }
  return 0;
}

}  // namespace headlight::cli
