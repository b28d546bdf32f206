#pragma once

#include "headlight/train/trainer.h"

namespace headlight {

// The work of a run around the steps of its loop. With several processes, all call each function
// after the same step.
class LoopActions {
 public:
  virtual ~LoopActions() = default;
  virtual void before_step() = 0;
  virtual void after_step(const StepMetrics& metrics) = 0;
  virtual bool stop_requested() = 0;
  // Evaluates the model. Returns true if it is better than after all evaluations before.
  virtual bool evaluate() = 0;
  // Returns true if the evaluations so far end the training.
  virtual bool stops_early() = 0;
  virtual void save(bool best) = 0;
  // Returns to an earlier step after one that changed nothing.
  virtual void roll_back(const StepMetrics& failed) = 0;
};

// The loop of a training: steps, with the evaluations and checkpoints that are due after them.
class TrainingLoop {
 public:
  // The references must outlive the loop.
  TrainingLoop(const TrainConfig& config, Trainer& trainer, LoopActions& actions)
      : config_(config), trainer_(trainer), actions_(actions) {}

  // Makes a step, and the evaluation and the checkpoint that are due after it. Returns false and
  // does nothing when the loop is over.
  bool step();
  // True after max_iters steps, a request to stop, and evaluations that end the training.
  bool is_over() const;
  bool was_stopped() const { return stopped_; }  // on request
  // Evaluates the model as after a step. Returns true if it is the best so far.
  bool evaluate();

 private:
  void run_scheduled_actions();

  const TrainConfig& config_;
  Trainer& trainer_;
  LoopActions& actions_;
  bool stopped_ = false;
  bool ended_early_ = false;
};

}  // namespace headlight
