#include "headlight/train/run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <sstream>

#include "headlight/io/file_writer.h"
#include "headlight/io/model_directory.h"
#include "headlight/tensor/machine.h"
#include "headlight/train/starting_model.h"
#include "text/printable.h"
#include "train/metrics_log.h"
#include "train/training_data.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// What a run starts from.
struct Start {
  std::unique_ptr<Gpt> model;
  TrainingData data;
  TrainingState state;
  fs::path checkpoint;  // resumed from; empty: none
  std::vector<std::string> notes;
};

// Keys that may differ when a run is resumed: they say where things are, how long to go on and what
// to report, but not what an update does.
constexpr std::array<std::string_view, 11> kFreeKeys{
    "out_dir",    "init_from",     "data",         "validation_data",        "max_iters",
    "eval_iters", "eval_interval", "log_interval", "always_save_checkpoint", "keep_checkpoints",
    "track_heads"};

// The lines of a configuration as to_toml() writes it, by key.
std::map<std::string, std::string> lines_by_key(const std::string& toml) {
  std::map<std::string, std::string> lines;
  std::istringstream stream(toml);
  for (std::string line; std::getline(stream, line);) {
    lines[line.substr(0, line.find(' '))] = line;
  }
  return lines;
}

// A run that was saved before a key existed was trained as the key's default says.
void require_same_run(const std::string& saved, const std::string& wanted) {
  std::map<std::string, std::string> before = lines_by_key(saved);
  before.merge(lines_by_key(to_toml(TrainConfig())));
  for (const auto& [key, line] : lines_by_key(wanted)) {
    const bool free = std::find(kFreeKeys.begin(), kFreeKeys.end(), key) != kFreeKeys.end();
    require(free || before[key] == line, "--resume: the run was started with ", before[key],
            ", now ", line, "; start a new run with another --out_dir");
  }
}

// The model to go on with, or nothing for a run from scratch.
LoadedModel initial_model(const TrainConfig& config, bool resume, Start& start) {
  if (resume) {
    start.checkpoint = find_latest_checkpoint(config.out_dir, start.notes);
    start.state = read_training_state(start.checkpoint);
    require_same_run(start.state.config, to_toml(config));
    start.notes.push_back("resuming from " + start.checkpoint.string());
  }
  if (start.checkpoint.empty() && !starts_from_model(config)) {
    return {};
  }
  return load_model(resume ? start.checkpoint : fs::path(config.init_from),
                    {.adjust = [&](GptConfig& model) { fit_to_run(model, config); }});
}

// Weights, gradients and the optimizer's two moments, in float32; activations come on top.
void require_memory(const GptConfig& model) {
  constexpr double kBytesPerParameter = 16;
  const Index parameters = count_parameters(model).total();
  const double needed = kBytesPerParameter * static_cast<double>(parameters);
  const double available = available_memory();
  require(available == 0 || needed <= available, "a model of ", parameters, " parameters needs ",
          static_cast<Index>(needed / 1e6), " MB to train, and ",
          static_cast<Index>(available / 1e6),
          " MB are free; choose a smaller n_layer, n_embd or block_size");
}

Start prepare(const TrainConfig& config, bool resume) {
  Start start;
  LoadedModel loaded = initial_model(config, resume, start);
  start.data = load_training_data(config, std::move(loaded.tokenizer));
  start.notes.insert(start.notes.end(), start.data.notes.begin(), start.data.notes.end());
  const Index ids = start.data.tokenizer->vocab_size();
  // A text that ran out of pairs gave fewer tokens than bpe was to learn.
  const bool ran_out = config.tokenizer == "bpe" && ids < config.vocab_size;
  require(config.vocab_size == 0 || config.vocab_size == ids || ran_out, "vocab_size: expected ",
          ids, ", which the tokenizer has, or 0, got ", config.vocab_size);
  if (loaded.model != nullptr) {
    start.model = std::move(loaded.model);
  } else {
    const GptConfig model = config.model(ids);
    require_memory(model);
    start.model = std::make_unique<Gpt>(model, static_cast<std::uint64_t>(config.seed));
  }
  start.state.config = to_toml(config);
  return start;
}

// One run in progress.
class Run {
 public:
  Run(const TrainConfig& config, const RunOptions& options, Start& start)
      : config_(config),
        options_(options),
        start_(start),
        trainer_(config, *start.model, start.data.train, start.state.iteration),
        log_(fs::path(config.out_dir) / "metrics.jsonl", start.state.iteration) {
    if (!start.checkpoint.empty()) {
      read_optimizer(start.checkpoint, trainer_.optimizer());
    }
  }

  RunResult train() {
    announce();
    RunResult result{.directory = config_.out_dir};
    while (trainer_.iteration() < config_.max_iters && !result.stopped) {
      const StepMetrics metrics = trainer_.step();
      tell([&](TrainObserver& observer) { observer.on_step(metrics); });
      result.stopped = options_.stop_requested && options_.stop_requested();
      if (trainer_.iteration() % config_.eval_interval == 0 && !result.stopped) {
        evaluate_and_save(result);
      }
    }
    finish(result);
    result.iterations = trainer_.iteration();
    result.best_validation_loss = start_.state.best_validation_loss;
    return result;
  }

 private:
  template <class Tell>
  void tell(const Tell& call) {
    call(log_);
    for (TrainObserver* observer : options_.observers) {
      call(*observer);
    }
  }

  void announce() {
    const RunPlan plan{.config = config_,
                       .model = *start_.model,
                       .tokenizer = *start_.data.tokenizer,
                       .train_tokens = start_.data.train.token_count,
                       .validation_tokens = start_.data.validation.token_count,
                       .train = &start_.data.train,
                       .validation = &start_.data.validation,
                       .batches_per_epoch = trainer_.batches_per_epoch(),
                       .first_iteration = start_.state.iteration,
                       .notes = start_.notes};
    tell([&](TrainObserver& observer) { observer.on_start(plan); });
  }

  bool evaluate_now(RunResult& result) {
    if (start_.data.validation.sequences.empty()) {
      return false;
    }
    const auto begin = Clock::now();
    EvaluationMetrics metrics{.iteration = trainer_.iteration()};
    metrics.validation = evaluate(*start_.model, *start_.data.tokenizer, start_.data.validation,
                                  {.batch_size = config_.batch_size,
                                   .block_size = config_.block_size,
                                   .max_batches = config_.eval_iters});
    metrics.best = metrics.validation.loss < start_.state.best_validation_loss;
    metrics.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (metrics.best) {
      start_.state.best_validation_loss = metrics.validation.loss;
    }
    result.validation = metrics.validation;
    tell([&](TrainObserver& observer) { observer.on_evaluation(metrics); });
    return metrics.best;
  }

  void save(bool best) {
    start_.state.iteration = trainer_.iteration();
    const fs::path path =
        save_checkpoint(config_.out_dir,
                        {*start_.model, *start_.data.tokenizer, trainer_.optimizer(), start_.state},
                        {.best = best, .keep = config_.keep_checkpoints});
    last_saved_ = trainer_.iteration();
    tell([&](TrainObserver& observer) { observer.on_checkpoint(path); });
  }

  void evaluate_and_save(RunResult& result) {
    const bool best = evaluate_now(result);
    if (best || config_.always_save_checkpoint) {
      save(best);
    }
    last_evaluated_ = trainer_.iteration();
  }

  // A run that was stopped saves at once; one that is done is evaluated a last time.
  void finish(RunResult& result) {
    const bool evaluates = !result.stopped && last_evaluated_ != trainer_.iteration();
    const bool best = evaluates && evaluate_now(result);
    if (best || last_saved_ != trainer_.iteration()) {
      save(best);
    }
  }

  const TrainConfig& config_;
  const RunOptions& options_;
  Start& start_;
  Trainer trainer_;
  MetricsLog log_;
  Index last_saved_ = -1;
  Index last_evaluated_ = -1;
};

}  // namespace

bool holds_run(const fs::path& directory) {
  std::error_code error;
  return fs::exists(fs::symlink_status(directory / "latest", error));
}

RunResult run_training(const TrainConfig& config, const RunOptions& options) {
  config.validate();
  require(options.resume || !holds_run(config.out_dir), shown(config.out_dir),
          ": holds a run already; go on with --resume or choose another --out_dir");
  Start start = prepare(config, options.resume);
  std::error_code error;
  fs::create_directories(config.out_dir, error);
  require(!error, shown(config.out_dir), ": cannot make the run directory: ", error.message());
  write_file(fs::path(config.out_dir) / "config.toml", to_toml(config));
  return Run(config, options, start).train();
}

}  // namespace headlight
