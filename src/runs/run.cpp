#include "headlight/runs/run.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "base/stopwatch.h"
#include "base/strings/printable.h"
#include "headlight/formats/model_directory.h"
#include "headlight/runs/config_source.h"
#include "runs/logs/metrics_log.h"
#include "runs/preference_reference.h"
#include "runs/resume_plan.h"
#include "runs/run_directory.h"
#include "runs/run_start.h"
#include "train/optimizer_state.h"
#include "train/training_loop.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

std::vector<SettingChange> present_changes(const TrainingState& state) {
  std::vector<SettingChange> present;
  std::copy_if(state.changes.begin(), state.changes.end(), std::back_inserter(present),
               [&](const SettingChange& change) { return change.iteration == state.iteration; });
  return present;
}

RunPlan plan_of(const RunStart& start, Index batches_per_epoch) {
  return {.config = start.config,
          .model = *start.model,
          .tokenizer = *start.data.tokenizer,
          .train = start.data.train,
          .validation = start.data.validation,
          .batches_per_epoch = batches_per_epoch,
          .first_iteration = start.state.iteration,
          .memory = start.memory,
          .changes = present_changes(start.state),
          .notes = start.notes,
          .warnings = start.warnings};
}

EvaluationMetrics evaluation_of(const RunStart& start, Index iteration, Processes& processes) {
  const Stopwatch watch;
  EvaluationMetrics metrics{.iteration = iteration};
  const EvaluationOptions options{.batch_size = start.config.batch_size,
                                  .block_size = start.config.gpt.block_size,
                                  .max_batches = start.config.eval_iters,
                                  .processes = &processes};
  const TokenDataset& data = start.data.validation;
  metrics.validation =
      start.preferences != nullptr
          ? start.preferences->evaluate(data, start.reference.back().second, options)
          : evaluate(*start.model, *start.data.tokenizer, data, options);
  metrics.seconds = watch.seconds();
  return metrics;
}

Processes& processes_of(const RunOptions& options) {
  return options.processes == nullptr ? alone() : *options.processes;
}

// Returns the text of config.toml, with the changed settings as comments.
std::string settings_text(const RunStart& start) {
  std::string text = "# Settings that were not given are comments: they follow from the others.\n" +
                     to_toml(start.config);
  for (const std::string& line : lines_of(start.state.changes)) {
    text += "# " + line + "\n";
  }
  return text;
}

// Gives the model the moving average of its weights, if the run keeps one, until the end of the
// scope.
class AveragedWeights {
 public:
  explicit AveragedWeights(Trainer& trainer) : trainer_(trainer) { trainer_.exchange_average(); }
  ~AveragedWeights() { trainer_.exchange_average(); }
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  Trainer& trainer_;
};

// A training run. Each process has its own and all run in step, but only process 0 has a
// `directory`, a log and observers.
class Run final : LoopActions {
 public:
  // Reads the checkpoint. Does not write to disk, so that an error leaves the run unchanged.
  Run(const RunOptions& options, RunStart& start, RunDirectory* directory)
      : config_(start.config),
        options_(options),
        processes_(processes_of(options)),
        start_(start),
        directory_(directory),
        trainer_(config_, *start.model, start.data.train, processes_),
        loop_(config_, trainer_, *this) {
    if (start.preferences != nullptr) {
      trainer_.set_loss([&start](const Batch& batch, const ForwardContext& context,
                                 Index normalizer) {
        return start.preferences->loss(batch, start.reference.front().second, context, normalizer);
      });
    }
    if (!start.checkpoint.empty()) {
      together(processes_, [&] { resume_from(start.checkpoint); });
    }
  }
  // Waits for the thread that writes a checkpoint, because that thread calls observers and the log.
  ~Run() override {
    if (directory_ != nullptr) {
      directory_->quiesce();
    }
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Makes everything ready for the first step.
  void begin() {
    together(processes_, [&] { begin_directory(); });
    announce();
    prepare_reference();
    if (processes_.count() == 1) {
      directory_->prepare(*start_.model, whole_optimizer(), adapter());
    }
    result_.directory = config_.out_dir;
    catch_up();
  }

  bool step() { return loop_.step(); }

  // Saves a stopped run at once; evaluates a completed run before saving it.
  RunResult finish() {
    result_.stopped = loop_.was_stopped() || !loop_.is_over();
    const bool evaluates = !result_.stopped && start_.state.evaluated != trainer_.iteration();
    const bool best = evaluates && loop_.evaluate();
    notify_saved(true);
    if (evaluates || !was_saved(trainer_.iteration())) {
      save(best);
      notify_saved(true);
    }
    if (!was_saved(trainer_.iteration())) {
      throw SaveError(shown(config_.out_dir) +
                      ": the checkpoint of the last step could not be saved");
    }
    result_.iterations = trainer_.iteration();
    result_.best_validation_loss = start_.state.best_validation_loss;
    result_.best_iteration = start_.state.best_iteration;
    return result_;
  }

 private:
  void before_step() override {
    notify_saved(false);
    trainer_.set_rate_factor(options_.rate_factor());
  }

  void after_step(const StepMetrics& metrics) override {
    notify([&](TrainObserver& observer) { observer.on_step(metrics); });
  }

  void begin_directory() {
    if (directory_ == nullptr) {
      return;
    }
    for (const fs::path& swept : directory_->sweep()) {
      start_.notes.push_back("removed " + shown(swept) +
                             ", which a killed process had left behind");
    }
    directory_->begin(settings_text(start_));
    log_.emplace(directory_->path(), start_.state,
                 MetricsFormats{.csv = config_.metrics_csv, .tensorboard = config_.tensorboard},
                 [this](const Error& error) {
                   directory_->handle_write_error(error);
                   warn(error.what());
                 });
    if (!start_.checkpoint.empty()) {
      const std::string left = directory_->resume_from(start_.checkpoint, start_.state);
      if (!left.empty()) {
        start_.warnings.push_back(left);
      }
    }
  }

  template <class Notify>
  void notify(const Notify& call) {
    if (directory_ == nullptr) {
      return;
    }
    call(*log_);
    for (TrainObserver* observer : options_.observers) {
      call(*observer);
    }
  }

  void warn(const std::string& text) {
    notify([&](TrainObserver& observer) { observer.on_warning(text); });
  }

  void notify_saved(bool wait) {
    if (directory_ == nullptr) {
      return;
    }
    for (const SaveEvent& event : directory_->take_events(wait)) {
      if (event.checkpoint.empty()) {
        warn(event.warning);
      } else {
        notify([&](TrainObserver& observer) { observer.on_checkpoint(event.checkpoint); });
      }
    }
  }

  void prepare_reference() {
    const bool is_new = complete_reference(start_, processes_);
    together(processes_, [&] {
      if (is_new && directory_ != nullptr) {
        saving([&] { write_reference(start_); });
      }
    });
  }

  void announce() {
    const RunPlan plan = plan_of(start_, trainer_.batches_per_epoch());
    notify([&](TrainObserver& observer) { observer.on_start(plan); });
  }

  bool stop_requested() override {
    return is_true_in_any(processes_, options_.stop_requested && options_.stop_requested());
  }

  // Returns true if the newest checkpoint, even in progress, is of step `iteration`; -1: none.
  bool was_saved(Index iteration) const {
    return decided_by_leader(processes_,
                             directory_ != nullptr && directory_->last_saved() == iteration);
  }

  // Restores the optimizer and the trainer. Weights and start_.state are loaded already.
  void resume_from(const fs::path& checkpoint) {
    OptimizerState whole(trainer_.empty_optimizer_state());
    if (!read_optimizer(checkpoint, whole) && !whole.state().empty()) {
      start_.notes.push_back("optimizer: " + shown(checkpoint) + " has no moments for " +
                             config_.optimizer + ": they begin at zero");
    }
    trainer_.set_optimizer_state(whole.state());
    trainer_.optimizer().set_step_count(whole.step_count());
    trainer_.exchange_average();  // the checkpoint's model has the average
    trainer_.go_to(start_.state.iteration, start_.state.history);
  }

  // Evaluates if a stopped or killed run missed it, and saves a checkpoint to roll back to.
  void catch_up() {
    const Index iteration = trainer_.iteration();
    const bool evaluates = iteration > 0 && iteration < config_.max_iters &&
                           iteration % config_.eval_interval == 0 &&
                           start_.state.evaluated != iteration;
    const bool best = evaluates && loop_.evaluate();
    if (evaluates || (is_named(config_.on_nan, OnNan::rollback) && was_saved(-1))) {
      save(best);
    }
  }

  bool evaluate() override {
    start_.state.evaluated = trainer_.iteration();
    if (start_.data.validation.sequences.empty()) {
      return false;
    }
    EvaluationMetrics metrics;
    {
      const AveragedWeights averaged(trainer_);
      metrics = evaluation_of(start_, trainer_.iteration(), processes_);
    }
    metrics.best = metrics.validation.loss < start_.state.best_validation_loss;
    if (metrics.best) {
      start_.state.best_validation_loss = metrics.validation.loss;
      start_.state.best_iteration = trainer_.iteration();
    }
    start_.state.without_better = metrics.best ? 0 : evaluations_without_better() + 1;
    result_.validation = metrics.validation;
    notify([&](TrainObserver& observer) { observer.on_evaluation(metrics); });
    return metrics.best;
  }

  // Returns the number of evaluations in a row before this one that were not better than the best.
  // Checkpoints of version 0.2.0 lack it: it then follows from the steps and eval_interval.
  Index evaluations_without_better() const {
    const Index known = start_.state.without_better;
    const Index steps = trainer_.iteration() - std::max<Index>(0, start_.state.best_iteration);
    return known >= 0 ? known : std::max<Index>(0, steps / config_.eval_interval - 1);
  }

  // True if `patience` evaluations in a row have not been better than the best.
  bool stops_early() override {
    const Index evaluations = start_.state.without_better;
    const bool is_out = config_.patience > 0 && evaluations >= config_.patience &&
                        !start_.data.validation.sequences.empty();
    if (is_out) {
      warn(concat_text("stopping: no better validation loss in ", evaluations,
                       " evaluations (patience)"));
    }
    return is_out;
  }

  void save(bool best) override {
    start_.state.iteration = trainer_.iteration();
    start_.state.learning_rate = trainer_.learning_rate();
    start_.state.data = trainer_.data_position();
    start_.state.data.validation_tokens = start_.data.validation.token_count;
    start_.state.data.content = start_.content;
    start_.state.data.validation_content = start_.validation_content;
    start_.state.history = trainer_.history();
    notify_saved(true);
    const AveragedWeights averaged(trainer_);
    const OptimizerState whole = whole_optimizer();
    if (directory_ != nullptr) {
      directory_->prepare(*start_.model, whole, adapter());
      write(whole, best);
    }
  }

  // Returns the optimizer of all processes, in process 0. Collective.
  OptimizerState whole_optimizer() {
    OptimizerState whole(trainer_.gather_optimizer_state());
    whole.set_step_count(trainer_.optimizer().step_count());
    return whole;
  }

  const Adapter* adapter() const { return start_.adapter ? &*start_.adapter : nullptr; }

  void write(const Optimizer& optimizer, bool best) {
    directory_->save({*start_.model, *start_.data.tokenizer, optimizer, start_.state}, best,
                     [this] { notify([](TrainObserver& one) { one.before_checkpoint(); }); });
    notify_saved(false);
  }

  fs::path newest_checkpoint() {
    std::vector<std::string> skipped;
    const fs::path latest =
        directory_ == nullptr ? "" : find_latest_checkpoint(directory_->path(), skipped);
    for (const std::string& text : skipped) {
      warn(text);
    }
    return gather_texts(processes_, latest.string()).front();
  }

  // Returns to the newest checkpoint and continues with the data after the failed step.
  void roll_back(const StepMetrics& failed) override {
    notify_saved(true);
    const UpdateHistory until = trainer_.history();
    const fs::path checkpoint = newest_checkpoint();
    TrainingState state = read_training_state(checkpoint);
    state.config = start_.state.config;
    state.changes = start_.state.changes;
    state.build = start_.state.build;
    state.cpu_variant = start_.state.cpu_variant;
    state.products = start_.state.products;
    if (checkpoint == start_.checkpoint) {
      state.best_validation_loss = first_best_;
    }
    start_.state = std::move(state);
    count_rollback(failed);
    if (start_.adapter) {
      read_adapter(checkpoint, *start_.adapter, *start_.model);
    } else {
      copy_tensors(load_weights(checkpoint)->parameters(), start_.model->parameters(),
                   shown(checkpoint));
    }
    UpdateHistory& history = start_.state.history;
    history.data_start = until.data_start;
    history.data_shift = failed.iteration + until.data_shift + 1 - start_.state.iteration;
    history.rollbacks = until.rollbacks + 1;
    resume_from(checkpoint);
    if (log_) {
      log_->cut(start_.state);
    }
    const RollbackMetrics metrics{
        .iteration = start_.state.iteration, .from = failed.iteration, .reason = failed.reason};
    notify([&](TrainObserver& observer) { observer.on_rollback(metrics); });
  }

  void count_rollback(const StepMetrics& failed) {
    rollbacks_ = start_.state.iteration == rollback_target_ ? rollbacks_ + 1 : 1;
    rollback_target_ = start_.state.iteration;
    if (rollbacks_ > config_.max_bad_updates) {
      throw DivergedError(concat_text("step ", failed.iteration, ": ", failed.reason, ", after ",
                                      config_.max_bad_updates,
                                      " returns to the checkpoint of step ", rollback_target_,
                                      " (max_bad_updates); try a smaller learning_rate"));
    }
  }

  const TrainConfig& config_;
  const RunOptions& options_;
  Processes& processes_;
  RunStart& start_;
  RunDirectory* directory_;
  Trainer trainer_;
  TrainingLoop loop_;
  std::optional<MetricsLog> log_;
  RunResult result_;
  Index rollbacks_ = 0;  // consecutive rollbacks to step rollback_target_
  Index rollback_target_ = -1;
  // Best loss at the start. Differs from the checkpoint's if the validation settings changed since.
  const double first_best_ = start_.state.best_validation_loss;
};

// Locks the run directory. Throws Error if a new run would overwrite another run or other files.
void enter(std::optional<RunDirectory>& directory, const TrainConfig& config, bool resume,
           bool saves_in_background) {
  directory.emplace(
      config.out_dir,
      SavePolicy{.keep = config.keep_checkpoints,
                 .stops_on_error = is_named(config.on_save_error, OnSaveError::stop),
                 .in_background = saves_in_background && config.saves_in_background()});
  require(resume || !holds_run(config.out_dir), shown(config.out_dir),
          ": contains a run already; continue it with --resume, or choose another --out_dir");
  if (!resume) {
    directory->require_no_foreign_files();
  }
}

RunResult evaluate_only(RunStart& start, const RunOptions& options) {
  require_value(!start.data.validation.sequences.empty(), "eval_only",
                "expected validation data, got none (validation_fraction is ",
                start.config.validation_fraction, ")");
  const RunPlan plan =
      plan_of(start, Batcher(start.data.train, start.config.batcher()).batches_per_epoch());
  for (TrainObserver* observer : options.observers) {
    observer->on_start(plan);
  }
  std::ignore = complete_reference(start, processes_of(options));
  const EvaluationMetrics metrics =
      evaluation_of(start, start.state.iteration, processes_of(options));
  for (TrainObserver* observer : options.observers) {
    observer->on_evaluation(metrics);
  }
  return {.iterations = start.state.iteration,
          .validation = metrics.validation,
          .best_validation_loss = start.state.best_validation_loss,
          .best_iteration = start.state.best_iteration,
          .directory = start.config.out_dir};
}

// A run before its first step.
struct Prepared {
  RunOptions options;
  std::optional<RunDirectory> directory = {};  // in process 0 only
  RunStart start = {};
};

void prepare(const TrainConfig& config, Prepared& prepared) {
  config.validate();
  require_documents(config);
  const RunOptions& options = prepared.options;
  const bool resume = options.resume || config.init_from == kResume;
  require(!resume || fs::is_directory(config.out_dir), shown(config.out_dir),
          ": no such run directory");
  Processes& processes = processes_of(options);
  together(processes, [&] {
    if (processes.leads() && !config.eval_only) {
      enter(prepared.directory, config, resume, options.saves_in_background);
    }
    TrainConfig stored = config;
    stored.eval_only = false;
    const auto notify_all = [&options](void (TrainObserver::*call)(double)) {
      return [&options, call](double share) {
        for (TrainObserver* observer : options.observers) {
          (observer->*call)(share);
        }
      };
    };
    prepared.start = prepare_run(stored, resume, processes.count(),
                                 {.loading = notify_all(&TrainObserver::on_loading),
                                  .reading = notify_all(&TrainObserver::on_reading)});
  });
  require_same_start(processes, prepared.start);
}

}  // namespace

struct TrainingRun::Parts {
  Prepared prepared;
  std::optional<Run> run = {};
};

TrainingRun::TrainingRun(const TrainConfig& config, RunOptions options)
    : parts_(new Parts{.prepared = {.options = std::move(options)}}) {
  Prepared& prepared = parts_->prepared;
  require(!config.eval_only, "[TrainingRun] expected a run that trains, got eval_only");
  prepare(config, prepared);
  parts_->run.emplace(prepared.options, prepared.start,
                      prepared.directory ? &*prepared.directory : nullptr);
  parts_->run->begin();
}

TrainingRun::~TrainingRun() = default;

bool TrainingRun::step() { return parts_->run->step(); }

RunResult TrainingRun::finish() { return parts_->run->finish(); }

LoadedModel TrainingRun::take_model() {
  parts_->run.reset();
  RunStart& start = parts_->prepared.start;
  return {.model = std::move(start.model),
          .tokenizer = std::move(start.data.tokenizer),
          .directory = start.config.out_dir};
}

RunResult run_training(const TrainConfig& config, const RunOptions& options) {
  if (config.eval_only) {
    Prepared prepared{.options = options};
    prepare(config, prepared);
    return evaluate_only(prepared.start, options);
  }
  TrainingRun run(config, options);
  while (run.step()) {
  }
  return run.finish();
}

}  // namespace headlight
