#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/transformed.h"
#include "cli/terminal/language.h"
#include "cli/terminal/options.h"
#include "cli/terminal/result_files.h"
#include "course/course.h"
#include "course/lab.h"
#include "course/report/report.h"
#include "headlight/base/nearest_name.h"
#include "headlight/formats/arrays/npz.h"
#include "headlight/storage/file_writer.h"
#include "headlight/storage/staged_files.h"
#include "show/report/parts/json_output.h"
#include "show/report/parts/terminal_text.h"

namespace headlight::cli {
namespace {

using lab::Experiment;
using lab::Report;

constexpr const char* kLabDetails =
    "Each experiment computes something about attention and explains the results with tables and "
    "pictures. headlight lab EXPERIMENT --help shows its options, with which most accept your own "
    "input. Each claim below the results is marked by whether the numbers of this run support it. "
    "headlight lab alone lists the experiments. The same seed gives the same numbers with any "
    "number of threads.\n\n"
    "JSON keys: experiments[{name, summary}] without EXPERIMENT.";

constexpr const char* kExperimentDetails =
    "JSON keys: experiment, seed, full, values{...} by experiment, claims[{id, holds, text}]; "
    "holds is null if the run had too few training steps for a verdict. "
    "--out DIR writes the same object as results.json, the figures as SVG, and with attention and "
    "shapes all arrays as .npz.";

std::vector<std::string> experiment_names() {
  return transformed(lab::kExperiments,
                     [](const Experiment& one) { return std::string(one.name); });
}

Options list_options() {
  Options options(
      {.name = "lab",
       .summary = "Run experiments that show how attention works.",
       .positional = "[EXPERIMENT]",
       .details = kLabDetails,
       .examples = {"headlight lab", "headlight lab worked-example",
                    "headlight lab heads --out runs/lab_heads",
                    "headlight lab pre-post-ln --lang ko --full", "headlight lab shapes --help"},
       .positional_choices = experiment_names()});
  return add_language_option(options, "Language of the explanations");
}

// Options of an experiment: its own and the common ones.
Options own_options(const Experiment& experiment) {
  const std::string command = concat_text("headlight lab ", experiment.name);
  Options options({.name = concat_text("lab ", experiment.name),
                   .summary = lab::prose(experiment.name, Language::english).title() + ".",
                   .positional = "",
                   .details = kExperimentDetails,
                   .examples = {command, command + " " + experiment.example,
                                command + " --lang ko --out runs/lab"}});
  experiment.declare(options);
  options.value("seed", "Seed of the random numbers", "1337");
  add_language_option(options, "Language of the explanations")
      .value("out", "Write the figures and results.json to this directory");
  options.paths({"out"});
  return options;
}

// Options of an experiment, which refuses other experiments' options by name.
Options options_of(const Experiment& experiment) {
  Options options = own_options(experiment);
  for (const Experiment& other : lab::kExperiments) {
    Options declared{CommandInfo()};
    other.declare(declared);
    for (const std::string& name : declared.names()) {
      options.refused(
          name, concat_text("experiment '", experiment.name, "' has no such option; '", other.name,
                            "' has one (see headlight lab ", experiment.name, " --help)"));
    }
  }
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

// Language of texts in JSON, which do not depend on the locale.
Language json_language(const Options& options) {
  return options.given("lang") ? options.chosen<Language>("lang") : Language::english;
}

void print_list(const Options& options) {
  require(options.positionals().empty(),
          "expected the experiment before its options: headlight lab EXPERIMENT [options]");
  const Language language = options.json() ? json_language(options) : language_option(options);
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
  StagedFiles staged(directory);
  std::vector<std::string> files;
  const auto add = [&](const std::string& name) {
    files.push_back((directory / name).string());
    return staged.path() / name;
  };
  for (const auto& [name, svg] : report.figures()) {
    write_file(add(name), svg);
  }
  for (const auto& [name, tensors] : report.arrays()) {
    write_npz(add(name), tensors);
  }
  write_file(add("results.json"), results + "\n");
  staged.commit();
  return files;
}

lab::Settings settings_of(const Options& options) {
  const Index iterations = options.has("iters") ? count_option(options, "iters", 0) : 0;
  return {.options = options,
          .full = options.given("full"),
          .iterations = iterations,
          .seed = seed_option(options)};
}

void run_experiment(const Experiment& experiment, const Options& options) {
  const lab::Settings settings = settings_of(options);
  Report report(experiment.name, language_option(options), json_language(options));
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

// Prints the completions of every experiment, whose patterns come before that of "lab".
void print_completions(const Words& words) {
  for (const Experiment& experiment : lab::kExperiments) {
    run(own_options(experiment), words, {});
  }
}

bool asks_for_completions(const Words& words) {
  const auto form = words.size() == 2 && words[0] == "--help" ? help_form(words[1]) : std::nullopt;
  return form && *form != HelpForm::all && *form != HelpForm::man;
}

}  // namespace

int run_lab(const Words& words) {
  if (asks_for_completions(words)) {
    print_completions(words);
    return run(list_options(), words, print_list);
  }
  // "headlight help lab EXPERIMENT" arrives as "--help EXPERIMENT".
  const bool asks_help = words.size() > 1 && words[0] == "--help" && !help_form(words[1]);
  Words rest = words;
  const auto name = rest.begin() + (asks_help ? 1 : 0);
  if (name == rest.end() || name->starts_with("-")) {
    return run(list_options(), words, print_list);
  }
  const Experiment& experiment = find_experiment(*name);
  rest.erase(name);
  return run(options_of(experiment), rest,
             [&](const Options& options) { run_experiment(experiment, options); });
}

}  // namespace headlight::cli
