#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headlight/formats/model_directory.h"
#include "headlight/nn/gpt.h"
#include "headlight/runs/checkpoint.h"
#include "headlight/train/evaluation.h"
#include "headlight/train/memory_plan.h"
#include "headlight/train/trainer.h"

namespace headlight {

// Settings, model and data of a run that is about to start.
struct RunPlan {
  const TrainConfig& config;
  const Gpt& model;
  const Tokenizer& tokenizer;
  const TokenDataset& train;
  const TokenDataset& validation;  // may be empty
  Index batches_per_epoch = 0;
  Index first_iteration = 0;  // above 0 when resumed
  MemoryPlan memory = {};
  std::vector<SettingChange> changes = {};  // settings changed by this resume
  std::vector<std::string> notes;           // one line each: origin of the weights and data
  std::vector<std::string> warnings;        // one line each: skipped files, possible differences
};

struct EvaluationMetrics {
  Index iteration = 0;  // steps made before it
  Evaluation validation = {};
  bool best = false;  // lower loss than all evaluations before
  double seconds = 0;
};

// A return to a checkpoint after a step with a loss or gradient that is not finite.
struct RollbackMetrics {
  Index iteration = 0;  // step of the checkpoint
  Index from = 0;       // number of the failed step
  std::string reason = {};
};

// Observer of a training run, for progress displays, logs, sampling and head tracking.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  // Called while the weights to start from are read, with their share, 0 to 1.
  virtual void on_loading(double) {}
  // Called while the training text is read, with the share of its bytes, 0 to 1; from 0 again if it
  // is read a second time.
  virtual void on_reading(double) {}
  virtual void on_start(const RunPlan&) {}
  virtual void on_step(const StepMetrics&) {}
  virtual void on_evaluation(const EvaluationMetrics&) {}
  // Called on the checkpoint thread before it writes, while training continues. The observer must
  // flush its own files to disk here. An Error makes the checkpoint fail.
  virtual void before_checkpoint() {}
  // Called when the checkpoint is complete on disk, some steps after its writing began.
  virtual void on_checkpoint(const std::filesystem::path&) {}
  virtual void on_rollback(const RollbackMetrics&) {}
  virtual void on_warning(const std::string&) {}
};

struct RunOptions {
  bool resume = false;
  // Processes that train together; nullptr: only this one. All call run_training with the same
  // configuration. Only process 0 uses the run directory and calls observers.
  Processes* processes = nullptr;
  std::vector<TrainObserver*> observers = {};
  // called after every step and evaluation; true in any process: save and return
  std::function<bool()> stop_requested = {};
  // Returns the factor of the scheduled learning rate; called before every step.
  std::function<double()> rate_factor = [] { return 1.0; };
  // false: training waits for the writing of checkpoints, even without `recompute`
  bool saves_in_background = true;
};

struct RunResult {
  Index iterations = 0;        // steps made in total
  bool stopped = false;        // on request, before max_iters
  Evaluation validation = {};  // last evaluation of this call; tokens is 0 if there was none
  double best_validation_loss = 0;
  Index best_iteration = -1;  // step of that loss; -1: none
  std::filesystem::path directory = {};
};

// A run under the control of its caller, who asks for every step. run_training() asks for all.
class TrainingRun {
 public:
  // Prepares the run as run_training() does, up to its first step. `config.eval_only` must not be
  // set. Throws as run_training() does.
  explicit TrainingRun(const TrainConfig& config, RunOptions options = {});
  ~TrainingRun();
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  // Makes a step, and the evaluation and the checkpoint that are due after it. Returns false and
  // does nothing when the run is over.
  bool step();
  // Ends the run, at any step: saves it. A run that is over is evaluated first. Call once.
  RunResult finish();
  // Returns the trained model after finish(). The run cannot be used any more.
  LoadedModel take_model();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Trains as configured: reads the data, creates or loads the model, and evaluates every
// eval_interval steps and at the end. Locks out_dir and writes checkpoints and metrics.jsonl to it.
// A separate thread writes checkpoints from a copy of weights and moments; with `recompute`, which
// saves memory, training waits for the disk instead. With resume (or
// init_from = resume) it continues from the newest complete checkpoint; with unchanged settings the
// result is bit-identical to an uninterrupted run. A run killed before its first checkpoint starts
// over. Resuming may change every setting except the optimizer, ConfigRole::architecture and
// ConfigRole::start; config.toml, state.json and metrics.jsonl record the changes. With eval_only
// it evaluates the starting model once and writes nothing. Throws Error before it changes the
// directory of a resumed run: for bad input, when out_dir holds a run but resume is not set, and
// when processes differ in settings, data, build or CPU variant. Throws PeerFailed when another
// process reports the failure; LockedError when another process trains in out_dir; SaveError when
// saving fails and on_save_error is stop, or at the end.
RunResult run_training(const TrainConfig& config, const RunOptions& options = {});

}  // namespace headlight
