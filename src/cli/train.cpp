#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/config_options.h"
#include "cli/head_tracker.h"
#include "cli/json_output.h"
#include "cli/log.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "headlight/train/run.h"
#include "headlight/train/starting_model.h"

namespace headlight::cli {
namespace {

constexpr const char* kDetails =
    "Settings come from the TOML file, then from the options below, which have the names and\n"
    "defaults of nanoGPT where it has them; --resume without a file takes those of the run. The\n"
    "run directory gets config.toml (the effective settings), metrics.jsonl (a line for each\n"
    "update and evaluation) and checkpoints, which are Hugging Face GPT-2 directories; best and\n"
    "latest lead to two of them.\n"
    "--init_from MODEL starts from the weights and the tokenizer of a run, a checkpoint or a\n"
    "GPT-2 directory of transformers; sizes come from the model, and a smaller --block_size\n"
    "drops its last positions.\n"
    "Ctrl-C (SIGINT) and SIGTERM finish the update, save and exit with 0; a second one exits\n"
    "at once with 130 and harms nothing. --resume goes on bit for bit from the newest checkpoint\n"
    "that is complete. Checkpoints are written while training goes on; one process at a time may\n"
    "use a run directory.\n"
    "--on_nan skip leaves an update out whose loss or gradient is not finite; rollback returns to\n"
    "the last checkpoint and goes on with the data that follows that update.\n"
    "--track_heads N appends to heads.jsonl, every N updates, what every attention head does and\n"
    "how much the model gains from repetition; see headlight heads --over_time.\n"
    "Keys of a line: iteration (updates made), loss (of the last one), first_copy_loss,\n"
    "second_copy_loss, in_context (of repeated random tokens; second minus first), heads[{head,\n"
    "layer, index, verdict, scores as headlight heads has them}].\n"
    "JSON keys: iterations, stopped, validation_loss, best_validation_loss,\n"
    "tokens_per_second, directory.";

// Counted by the signal handler, which may run on any thread and do nothing more.
std::atomic<int> stop_signals = 0;
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void on_stop_signal(int) {
  if (++stop_signals > 1) {
    std::_Exit(130);
  }
}

Options make_options() {
  Options options(
      {.name = "train",
       .summary = "Train a model from a configuration.",
       .positional = "[CONFIG.toml]",
       .details = kDetails,
       .examples = {"headlight train configs/toy.toml",
                    "headlight train configs/toy.toml --max_iters 200 --out_dir runs/short",
                    "headlight train --resume --out_dir runs/toy",
                    "headlight train --resume --out_dir runs/toy --max_iters 4000",
                    "headlight train configs/induction.toml",
                    "headlight train configs/shakespeare_char_cpu.toml --data input.txt",
                    "headlight train --init_from gpt2_dir --data book.txt --block_size 256 "
                    "--learning_rate 3e-5"},
       .exit_codes =
           "3 a checkpoint could not be saved, 4 another process uses the run directory,\n"
           "130 interrupted at once"});
  options.flag("resume", "Go on from the newest complete checkpoint of out_dir");
  add_config_options(options, {});
  add_ignored_options(options);
  return options;
}

// nanoGPT asks for the same with init_from.
bool wants_resume(const TrainConfig& config, const Options& options) {
  return options.is_set("resume") || config.init_from == "resume";
}

// A run that goes on has the settings that it was started with.
void set_from_run(TrainConfig& config, const Options& options) {
  TrainConfig given;
  set_from_options(given, options);
  const std::filesystem::path settings = std::filesystem::path(given.out_dir) / "config.toml";
  // One that is only beginning may not have written its settings yet.
  if (wants_resume(given, options) &&
      (std::filesystem::exists(settings) || holds_run(given.out_dir))) {
    set_from_file(config, settings.string());
  }
}

TrainConfig effective_config(const Options& options) {
  TrainConfig config;
  require(options.positionals().size() <= 1, "expected one configuration file, got ",
          options.positionals().size());
  for (const std::string& path : options.positionals()) {
    set_from_file(config, path);
  }
  if (options.positionals().empty()) {
    set_from_run(config, options);
  }
  set_from_options(config, options);
  adopt_architecture(config, given_keys(options), wants_resume(config, options));
  config.validate();
  return config;
}

void print_result(const RunResult& result, const TrainProgress& progress, bool json) {
  if (!json) {
    return;
  }
  nlohmann::ordered_json object{{"iterations", result.iterations},
                                {"stopped", result.stopped},
                                {"validation_loss", nullptr},
                                {"best_validation_loss", nullptr},
                                {"tokens_per_second", progress.tokens_per_second()},
                                {"directory", result.directory.string()}};
  if (result.validation.tokens > 0) {
    object["validation_loss"] = result.validation.loss;
  }
  if (std::isfinite(result.best_validation_loss)) {
    object["best_validation_loss"] = result.best_validation_loss;
  }
  print_json(object);
}

}  // namespace

int run_train(const std::vector<std::string>& arguments) {
  Options options = make_options();
  if (!options.parse(arguments)) {
    return 0;
  }
  const TrainConfig config = effective_config(options);
  std::signal(SIGINT, on_stop_signal);
  std::signal(SIGTERM, on_stop_signal);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write
  TrainProgress progress;
  HeadTracker tracker(config.track_heads);
  const bool resume = wants_resume(config, options);
  const RunResult result = run_training(
      config, {.resume = resume, .observers = {&progress, &tracker}, .stop_requested = [] {
                 return stop_signals > 0;
               }});
  if (!progress.loss_curve().empty()) {
    log_info("\n" + progress.loss_curve());
  }
  if (result.stopped) {
    log_info("stopped after update " + std::to_string(result.iterations) + "; go on with --resume");
  }
  print_result(result, progress, options.json());
  return 0;
}

}  // namespace headlight::cli
