#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "headlight/nn/gpt.h"
#include "headlight/train/checkpoint.h"
#include "headlight/train/evaluation.h"
#include "headlight/train/memory_plan.h"
#include "headlight/train/trainer.h"

namespace headlight {

// What a run is about to do.
struct RunPlan {
  const TrainConfig& config;
  const Gpt& model;
  const Tokenizer& tokenizer;
  Index train_tokens = 0;
  Index validation_tokens = 0;
  const TokenDataset* train = nullptr;       // never null in a run
  const TokenDataset* validation = nullptr;  // the same; no sequences: there is none
  Index batches_per_epoch = 0;
  Index first_iteration = 0;  // above 0 when resumed
  MemoryPlan memory = {};
  std::vector<SettingChange> changes = {};  // of settings, with which it goes on from there
  std::vector<std::string> notes;           // one line each: what the run starts from
  std::vector<std::string> warnings;        // one line each: what was skipped, or may differ
};

struct EvaluationMetrics {
  Index iteration = 0;  // updates made before it
  Evaluation validation = {};
  bool best = false;  // better than all before
  double seconds = 0;
};

// A return to a checkpoint because of an update that could not be made.
struct RollbackMetrics {
  Index iteration = 0;  // of the checkpoint
  Index from = 0;       // number of the update
  std::string reason = {};
};

// Looks on while a run trains. Plug in progress displays, logs, sampling, head tracking.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_start(const RunPlan&) {}
  virtual void on_step(const StepMetrics&) {}
  virtual void on_evaluation(const EvaluationMetrics&) {}
  // By the thread that is about to write one, while training goes on: what the observer has written
  // must reach the disk before it. An Error makes the checkpoint fail.
  virtual void before_checkpoint() {}
  // When it is complete on the disk, some updates after it was begun.
  virtual void on_checkpoint(const std::filesystem::path&) {}
  virtual void on_rollback(const RollbackMetrics&) {}
  virtual void on_warning(const std::string&) {}
};

struct RunOptions {
  bool resume = false;
  // That train together; nothing: this one alone. All call run_training with the same
  // configuration; process 0 alone uses the run directory and calls observers.
  Processes* processes = nullptr;
  std::vector<TrainObserver*> observers = {};
  std::function<bool()> stop_requested = {};  // asked after every update and evaluation; true, in
                                              // any process: save and return
};

struct RunResult {
  Index iterations = 0;        // updates made in all
  bool stopped = false;        // on request, before max_iters
  Evaluation validation = {};  // of the last evaluation here; no tokens: there was none
  double best_validation_loss = 0;
  std::filesystem::path directory = {};
};

// Trains as the configuration says: reads the data, makes or loads the model, evaluates every
// eval_interval updates and at the end, saves checkpoints and metrics.jsonl in out_dir, which it
// locks. Checkpoints are written by a thread of their own from a copy of weights and moments.
// With resume (or init_from = resume) it goes on from the newest complete checkpoint, with the same
// settings bit for bit as if it had never stopped; a run that was killed before its first one
// begins anew. All settings but the optimizer and those of ConfigRole::architecture and
// ConfigRole::start may have changed: config.toml, state.json and metrics.jsonl keep what changed
// when. With eval_only it evaluates once what it would start from, and writes nothing. Throws
// Error, before anything in the directory of a run that goes on has changed, for bad input, and
// when out_dir holds a run that resume was not asked for, or when the processes differ in settings,
// data, build or CPU variant; OthersFailed in a process when another one tells why none can go on;
// LockedError when another process trains there; SaveError when saving fails and on_save_error is
// stop, or at the end.
RunResult run_training(const TrainConfig& config, const RunOptions& options = {});

}  // namespace headlight
