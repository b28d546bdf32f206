#include <atomic>
#include <csignal>
#include <filesystem>
#include <iostream>

#include "base/strings/printable.h"
#include "cli/commands.h"
#include "cli/interruption.h"
#include "cli/option_groups/config_options.h"
#include "cli/terminal/launched.h"
#include "cli/terminal/log.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "headlight/datasets/text_files.h"
#include "headlight/datasets/token_file.h"
#include "headlight/formats/run_layout.h"
#include "headlight/runs/config_source.h"
#include "headlight/runs/run.h"
#include "headlight/runs/small_text.h"
#include "headlight/runs/starting_model.h"
#include "interpret/scores/head_tracker.h"
#include "runs/logs/sample_writer.h"
#include "show/report/parts/json_output.h"

namespace headlight::cli {
namespace {

constexpr const char* kTrainDetails =
    "Settings come from the TOML file, then from the options. Both have nanoGPT's names and "
    "defaults where nanoGPT has them. The run directory gets checkpoints, metrics.jsonl and "
    "config.toml.\n\n"
    "Relative paths in the file are searched in the current folder, then beside the file and "
    "in the folders above it. out_dir is always relative to the current folder. On less than "
    "10 MB of text, a run that does not set all of n_layer, n_head and n_embd gets the other "
    "settings of a small model: its sizes, 2000 steps and learning rate. The log shows them.\n\n"
    "Learning rate: by default it rises for a twentieth of max_iters, at most 2000 steps, and "
    "falls to a tenth of learning_rate at max_iters. --lr_schedule wsd (warm-up, stable, "
    "decay) stays at learning_rate until the last fifth (lr_decay_fraction), then falls as 1 "
    "minus a square root. With --resume from before the decay, a larger max_iters extends the "
    "stable part and changes nothing before it.\n\n"
    "--optimizer muon orthogonalises the updates of matrices inside layers (query, key and "
    "value separately). AdamW trains embeddings, head, norms and biases. With adjust_lr_fn "
    "match_rms_adamw, one learning_rate and weight_decay work for both. adjust_lr_fn original is "
    "Keller Jordan's rule, with smaller updates. It needs a learning rate of about 0.02, which "
    "then applies to AdamW too.\n\n"
    "Files of a run: config.toml holds the effective settings, and in comments those derived "
    "from others. metrics.jsonl has a line for each step, evaluation and change of settings. "
    "Checkpoints are Hugging Face model directories. best and latest are links to two of them.\n\n"
    "--init_from MODEL fine-tunes: it starts from the weights and tokenizer of a run, a "
    "checkpoint, a Hugging Face directory, a GGUF file or nanoGPT's ckpt.pt. "
    "Sizes come from the model. A smaller --block_size drops its last learned "
    "positions. The log shows the defaults of fine-tuning. Data in JSON with messages, prompt and "
    "completion, or instruction and output are conversations: each is a document, and --learn "
    "chooses the learned tokens. Data with chosen and rejected are pairs of answers: the run "
    "learns to prefer the chosen ones (DPO, --dpo_beta). --lora_rank 8 trains a LoRA adapter: its "
    "checkpoints are adapters of Hugging Face's PEFT, which all commands open together with the "
    "base model that they name.\n\n"
    "Ctrl-C (SIGINT), SIGTERM and a closed terminal (SIGHUP, unless nohup ignores it) finish the "
    "step, save and exit with 0. A second signal exits at once with 130 and damages nothing. "
    "Checkpoints are written while training continues. "
    "One process at a time may use a run directory.\n\n"
    "--resume RUN takes the settings of the run and continues from its newest complete "
    "checkpoint, bit for bit as if it had never stopped. A run that was killed before its "
    "first checkpoint starts again. Other settings in a file or options take effect from there "
    "on, except the model, its tokenizer, the optimizer and init_from. The log, config.toml "
    "and metrics.jsonl record the changes. The learning rate is that of the new settings at "
    "that step. Another batch_size continues at the same place of the epoch if batching is "
    "padded, and continues to sample if it is packed. Other data, another seed or another "
    "batching start a new epoch. A larger max_iters can raise a learning rate that had fallen; "
    "a warning gives both rates.\n\n"
    "mpirun -n 4 headlight train ... computes every step in 4 processes, on one machine or "
    "several. Process 0 writes files and messages. --shards S gives the same bits with any "
    "number of processes up to S. SIGUSR1 stops like SIGTERM (mpirun forwards it). See "
    "docs/distributed/README.md.\n\n"
    "--track_heads N appends a line to heads.jsonl every N steps; see headlight heads "
    "--over_time. Its keys: iteration (steps made), loss (of the last step), first_copy_loss, "
    "second_copy_loss, in_context (losses on repeated random tokens; second minus first), "
    "text_places and repeat_places (numbers of measured positions), heads[{head, layer, index, "
    "verdict, and the scores of headlight heads}].\n\n"
    "--sample_interval N continues --sample_prompt every N steps, with the seed of the run, "
    "and appends the text to samples.jsonl. Its keys: iteration, prompt, text.\n\n"
    "JSON keys: iterations, stopped, validation_loss, best_validation_loss, best_iteration (its "
    "step), "
    "tokens_per_second (learned tokens), directory.";

// Number of stop signals. Lock-free, because a signal handler counts them.
std::atomic<int> stop_signals = 0;
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void on_stop_signal(int) {
  if (++stop_signals > 1) {
    end_by_signal(SIGINT);
  }
}

Options train_options() {
  Options options(
      {.name = "train",
       .summary = "Train a model, or continue a run.",
       .positional = "[CONFIG.toml] [RUN]",
       .details = kTrainDetails,
       .examples = {"headlight train configs/toy.toml",
                    "headlight train configs/toy.toml --max_iters 200 --out_dir runs/short",
                    "headlight train --resume runs/toy",
                    "headlight train --resume runs/toy --max_iters 4000",
                    "headlight train --resume runs/toy --eval_only",
                    "headlight train configs/induction.toml",
                    "headlight train configs/shakespeare_char_cpu.toml --data input.txt",
                    "headlight train --init_from gpt2_dir --data book.txt --block_size 256 "
                    "--learning_rate 3e-5"},
       .exit_codes =
           "3 a checkpoint could not be saved, 4 another process uses the run directory, 130 "
           "interrupted at once"});
  options.group("Run and data").boolean("resume", "Continue the run in RUN or out_dir");
  add_config_options(options, {});
  add_ignored_options(options);
  options.paths({"resume"}).basic({"resume"});
  return options;
}

// Training that the command line describes.
struct Task {
  TrainConfig config;
  bool resume = false;
  std::string note = {};  // for the log
};

// TOML file and run directory, given in any order; empty: not given.
struct RunPaths {
  std::string file;
  std::string run;
};

bool is_config_file(const std::filesystem::path& path, bool resume) {
  std::error_code error;
  return path.extension() == ".toml" || std::filesystem::is_regular_file(path, error) ||
         (!resume && !std::filesystem::is_directory(path, error));
}

// Throws Error for texts and folders, which belong to --data.
void require_no_data(const std::string& path, bool is_file) {
  const bool is_data = is_text_name(path) || is_table_name(path) || is_token_file(path) ||
                       std::filesystem::path(path).extension() == ".json";
  std::error_code error;
  require(!is_file || !is_data || !std::filesystem::exists(path, error), shown(path),
          ": expected a configuration file in TOML, got a file of texts or token ids; to train on "
          "it: --data ",
          shown(path));
}

RunPaths paths_of(const Options& options, bool resume) {
  RunPaths paths;
  for (const std::string& path : options.positionals()) {
    const bool is_file = is_config_file(path, resume);
    require(is_file || resume, shown(path),
            ": expected a configuration file, got a directory; continue a run with --resume, or "
            "train on its texts with --data ",
            shown(path));
    require_no_data(path, is_file);
    std::string& target = is_file ? paths.file : paths.run;
    require(target.empty(),
            is_file ? "expected one configuration file, got " : "expected one run directory, got ",
            shown(target), " and ", shown(path));
    target = path;
  }
  return paths;
}

// Run directory of a resumed run: from a file, --out_dir, an argument or --resume=RUN.
std::string run_directory(const Options& options, const RunPaths& paths,
                          const TrainConfig& requested) {
  std::string run = paths.run;
  const std::string value = options.text("resume");
  if (options.given("resume") && value != "true") {
    require(run.empty(), "--resume: expected one run directory, got ", shown(value), " and ",
            shown(run));
    run = value;
  }
  if (run.empty()) {
    return requested.out_dir;
  }
  require(!options.given("out_dir") || options.text("out_dir") == run,
          "--out_dir: ", shown(requested.out_dir), " contradicts the run directory ", shown(run));
  std::error_code error;
  require(std::filesystem::is_directory(run, error), "--resume: ", shown(run),
          ": no such run directory");
  require(!std::filesystem::exists(std::filesystem::path(run) / kCheckpointState, error),
          "--resume: ", shown(run), " is a checkpoint; expected the directory of its run");
  return run;
}

// Settings of a resumed run, before the command line changes them.
TrainConfig settings_so_far(const std::string& run) {
  std::error_code error;
  // A run that has just started may not have written its settings yet.
  const bool has_settings = std::filesystem::exists(std::filesystem::path(run) / kRunConfig, error);
  return has_settings || holds_run(run) ? read_run_config(run) : TrainConfig{};
}

// A number of steps on the command line replaces the epochs of a file or of the run so far.
void choose_length(const Options& options, TrainConfig& config) {
  require(!options.given("max_iters") || !options.given("epochs"),
          "--epochs: sets max_iters; give one of the two");
  if (options.given("max_iters")) {
    config.epochs = 0;
  }
}

Task task_of(const Options& options) {
  const bool resume_given = options.given("resume") && options.text("resume") != "false";
  const RunPaths paths = paths_of(options, resume_given);
  TrainConfig requested;
  std::vector<std::string> given = keys_of_options(options);
  if (!paths.file.empty()) {
    const std::vector<std::string> keys = set_from_file(requested, paths.file);
    given.insert(given.end(), keys.begin(), keys.end());
  }
  set_from_options(requested, options);
  Task task{.config = requested, .resume = resume_given || requested.init_from == kResume};
  if (task.resume) {
    const std::string run = run_directory(options, paths, requested);
    task.config = settings_so_far(run);
    const std::string start = task.config.init_from;
    copy_keys(requested, given, task.config);
    task.config.out_dir = run;
    task.config.init_from = requested.init_from == kResume ? start : task.config.init_from;
    choose_length(options, task.config);
  } else {
    choose_length(options, task.config);
    adopt_architecture(task.config, given);
    task.note = starts_from_model(task.config) ? fit_to_fine_tuning(task.config, given)
                                               : fit_sizes_to_text(task.config, given);
  }
  return task;
}

Json json_of(const RunResult& result, const TrainProgress& progress) {
  const bool is_validated = result.validation.tokens > 0;
  return {{"iterations", result.iterations},
          {"stopped", result.stopped},
          {"validation_loss", is_validated ? Json(result.validation.loss) : Json()},
          {"best_validation_loss", result.best_validation_loss},
          {"best_iteration", is_validated ? Json(result.best_iteration) : Json()},
          {"tokens_per_second", progress.tokens_per_second()},
          {"directory", result.directory.string()}};
}

// Logs how the number of processes affects the bits of the result.
void note_processes(const TrainConfig& config, const Processes& processes) {
  if (processes.count() > 1) {
    log_info(concat_text(
        processes.count(), " processes, ",
        config.shards > 0
            ? concat_text(config.shards, " shards: the same results, bit for bit, with any ",
                          "number of processes up to that")
            : concat_text("one shard each: results differ slightly with another number ",
                          "of processes (--shards ", processes.count(), " keeps them)")));
  }
}

void handle_stop_signals() {
  // A closed terminal must not end a run that nohup has started.
  if (std::signal(SIGHUP, on_stop_signal) == SIG_IGN) {
    std::signal(SIGHUP, SIG_IGN);
  }
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    std::signal(signal, on_stop_signal);
  }
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit becomes a write error
}

// Saves a run that a signal stops. Before its first step a signal ends the program at once.
class StopSignals : public TrainObserver {
 public:
  void on_start(const RunPlan&) override { handle_stop_signals(); }
};

// Trains, or only evaluates the start.
void train(const Task& task, Processes& processes, bool json) {
  const bool only_evaluates = task.config.eval_only;
  TrainProgress progress(task.note, !only_evaluates);
  HeadTracker tracker(task.config.track_heads, log_warning);
  SampleWriter samples(log_warning);
  StopSignals saving;
  std::vector<TrainObserver*> observers;
  if (processes.leads()) {
    observers = {&progress};
  }
  if (!only_evaluates) {
    note_processes(task.config, processes);
    if (processes.leads()) {
      observers.insert(observers.end(), {&saving, &tracker, &samples});
    } else {
      handle_stop_signals();
    }
  }
  const RunResult result =
      run_training(task.config, {.resume = task.resume,
                                 .processes = &processes,
                                 .observers = std::move(observers),
                                 .stop_requested = [] { return stop_signals > 0; }});
  progress.show_end(result);
  if (result.stopped) {
    log_info("stopped after step " + std::to_string(result.iterations) +
             "; continue with --resume " + result.directory.string());
  }
  if (json) {
    print_json(json_of(result, progress));
  } else if (only_evaluates) {
    std::cout << "iter " << result.iterations << ": " << evaluation_text(result.validation) << "\n";
  }
}

void train_command(const Options& options) {
  Processes& processes = all_processes();
  in_place(kSettings, [&] { train(task_of(options), processes, options.json()); });
}

}  // namespace

int run_train(const Words& words) { return run(train_options(), words, train_command); }

}  // namespace headlight::cli
