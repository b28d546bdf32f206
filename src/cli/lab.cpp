#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/transformed.h"
#include "cli/commands.h"
#include "cli/lab/lab.h"
#include "cli/lab/report.h"
#include "cli/terminal/options.h"
#include "cli/terminal/result_files.h"
#include "headlight/base/nearest_name.h"
#include "headlight/files/file_writer.h"
#include "views/report/json_output.h"
#include "views/report/terminal_text.h"

namespace headlight::cli {
namespace {

using lab::Experiment;
using lab::Report;

constexpr const char* kLabDetails =
    "Each experiment computes something about attention, without reading any file, and "
    "explains the results with tables and pictures. Each claim below them is marked by whether "
    "the numbers of this run support it. headlight lab alone lists the experiments. The same "
    "seed gives the same numbers with any number of threads.\n\n"
    "--out DIR writes the figures as SVG and all measurements as results.json; --json prints "
    "the same object. induction inspects your own model with --model. Without it, induction "
    "trains two models (--full: five), which takes about a minute.\n\n"
    "JSON keys: experiment, seed, full, values{...} by experiment, claims[{id, holds, text}].";

std::vector<std::string> experiment_names() {
  return transformed(lab::kExperiments,
                     [](const Experiment& one) { return std::string(one.name); });
}

Options lab_options() {
  Options options({.name = "lab",
                   .summary = "Run experiments that show how attention works.",
                   .positional = "[EXPERIMENT]",
                   .details = kLabDetails,
                   .examples = {"headlight lab", "headlight lab worked-example",
                                "headlight lab heads --out runs/lab_heads",
                                "headlight lab pre-post-ln --lang ko --full",
                                "headlight lab induction --model runs/induction --out story"},
                   .positional_choices = experiment_names()});
  options.flag("full", "Run the long version, with more steps and repeats")
      .value("iters", "Train for this number of steps; 0: the experiment's own number", "0")
      .alias("max_iters", "iters")
      .value("seed", "Seed of all random numbers", "1337")
      .value("model", "induction: inspect this model instead of training one")
      .choice("lang", "Language of the explanations", kChoiceNames<Language>, "en")
      .value("out", "Write the figures and results.json to this directory");
  options.paths({"model", "out"});
  return options;
}

const Experiment& find_experiment(const std::string& name) {
  std::string spelled = name;
  std::ranges::replace(spelled, '_', '-');
  const auto found = std::ranges::find(lab::kExperiments, spelled, &Experiment::name);
  require(found != std::end(lab::kExperiments), "unknown experiment '", name, "'",
          did_you_mean(name, experiment_names()), " (headlight lab lists them)");
  return *found;
}

void print_list(const Options& options) {
  const Language language = options.chosen<Language>("lang");
  Json names = Json::array();
  for (const Experiment& experiment : lab::kExperiments) {
    const std::string summary = lab::prose(experiment.name, language).title();
    names.push_back({{"name", experiment.name}, {"summary", summary}});
    if (!options.json()) {
      std::cout << pad_right(std::string(experiment.name), 16) << summary << "\n";
    }
  }
  if (options.json()) {
    print_json({{"experiments", names}});
  }
}

// Returns the paths of the files.
std::vector<std::string> write_results(const std::filesystem::path& directory, const Report& report,
                                       const std::string& results) {
  make_folder(directory);
  std::vector<std::string> files;
  for (const auto& [name, svg] : report.figures()) {
    files.push_back((directory / name).string());
    write_file(files.back(), svg);
  }
  files.push_back((directory / "results.json").string());
  write_file(files.back(), results + "\n");
  return files;
}

lab::Settings settings_of(const Options& options, const Experiment& experiment) {
  const Index iterations = count_option(options, "iters", 0);
  require(!options.given("model") || experiment.takes_model, "--model: '", experiment.name,
          "' makes its own models; only induction accepts a model");
  require(!options.given("model") || iterations == 0,
          "--iters: cannot be combined with --model, which is not trained");
  return {.full = options.given("full"),
          .iterations = iterations,
          .seed = seed_option(options),
          .model = options.text("model")};
}

void run_experiment(const Experiment& experiment, const Options& options) {
  const lab::Settings settings = settings_of(options, experiment);
  Report report(experiment.name, options.chosen<Language>("lang"));
  experiment.run(settings, report);
  Json results{{"experiment", experiment.name}, {"seed", settings.seed}, {"full", settings.full}};
  results.update(report.json());
  std::vector<std::string> files;
  if (options.given("out")) {
    files = write_results(options.text("out"), report, results.dump(1));
  }
  if (options.json()) {
    print_json(results);
    return;
  }
  std::cout << report.text() << (files.empty() ? "" : "\n") << written_text(files);
}

void lab_command(const Options& options) {
  if (options.positionals().empty()) {
    print_list(options);
  } else {
    run_experiment(find_experiment(options.positional()), options);
  }
}

}  // namespace

int run_lab(const Words& words) { return run(lab_options(), words, lab_command); }

}  // namespace headlight::cli
