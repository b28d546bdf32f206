#pragma once

#include <memory>
#include <string>

#include "headlight/cluster/processes.h"
#include "headlight/data/batcher.h"
#include "headlight/nn/language_model.h"
#include "headlight/optim/optimizer.h"
#include "headlight/train/train_config.h"
#include "headlight/train/training_state.h"

namespace headlight {

// Where the time of one update went, in seconds.
struct PhaseSeconds {
  double data = 0;       // putting the batches together
  double forward = 0;    // the losses of all batches
  double backward = 0;   // their gradients
  double optimizer = 0;  // clearing gradients, their norm, clipping, the update itself

  double total() const { return data + forward + backward + optimizer; }
};

// What became of an update.
enum class StepOutcome {
  updated,
  skipped,   // left out: weights and moments are as they were
  unusable,  // on_nan is rollback: nothing has changed, and somebody must go back
};

// What one update did.
struct StepMetrics {
  Index iteration = 0;  // number of the update, from 0
  double loss = 0;      // mean over the update's targets, before the update
  double learning_rate = 0;
  double gradient_norm = 0;  // before clipping
  Index tokens = 0;          // targets
  double seconds = 0;
  PhaseSeconds phases = {};  // sums to `seconds`
  StepOutcome outcome = StepOutcome::updated;
  std::string reason = {};  // of an outcome other than updated
};

// Training has come to numbers that no further update mends.
class DivergedError : public Error {
 public:
  using Error::Error;
};

class ShardedGradients;  // src/cluster/sharded_gradients.h

// The training loop's inner part: batches in, updates out. Everything it does is a function of the
// configuration, the dataset, the number of the update and the history before it.
class Trainer {
 public:
  // All must outlive the trainer. With several processes each has a trainer of its own, with the
  // same configuration, weights and data; all make an update together, and have the same weights
  // after it. Throws Error when optimizer is muon and the model has no hidden matrices, and when
  // there are more processes than shards.
  Trainer(const TrainConfig& config, LanguageModel& model, const TokenDataset& dataset,
          Processes& processes = alone());
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // One update from gradient_accumulation_steps batches; the loss and the gradients are means over
  // all their targets together. A loss or gradient that is not finite never reaches the weights:
  // on_nan says what happens then; spikes are left out when skip_spikes says so. Throws
  // DivergedError, with the weights untouched, when on_nan is stop and when max_bad_updates in a
  // row were left out.
  StepMetrics step();

  // Goes on from another update with this history; weights and moments are the caller's.
  void go_to(Index iteration, UpdateHistory history);

  Index iteration() const { return iteration_; }
  const UpdateHistory& history() const { return history_; }
  // Where the next update finds its data.
  DataPosition data_position() const;
  double learning_rate() const { return schedule_.at(iteration_); }
  Index batches_per_epoch() const { return batcher_.batches_per_epoch(); }
  // Among several processes: for a part of the parameters.
  Optimizer& optimizer() { return *optimizer_; }
  // The whole state of all processes' optimizers, to be saved, in process 0; nothing in the others.
  NamedTensors gather_optimizer_state();
  // Tensors for the whole state, uninitialised, and filling this process's optimizer from them.
  NamedTensors empty_optimizer_state() const;
  void set_optimizer_state(const NamedTensors& whole);

 private:
  Index next_batch() const;
  std::vector<Batch> next_batches();
  ForwardContext context_of(Index batch) const;
  void compute_gradients(StepMetrics& metrics, const std::vector<Batch>& batches);
  void compute_shards(StepMetrics& metrics, const std::vector<Batch>& batches);
  double compute_shard(Index shard, StepMetrics& metrics, const std::vector<Batch>& batches);
  void judge(StepMetrics& metrics) const;
  void leave_out(const StepMetrics& metrics);

  const TrainConfig& config_;
  LanguageModel& model_;
  const TokenDataset& dataset_;
  NamedTensors parameters_;
  LearningRateSchedule schedule_;
  Precision precision_;
  Batcher batcher_;
  std::unique_ptr<ShardedGradients> sharded_;  // nothing: one process, one shard
  std::unique_ptr<Optimizer> optimizer_;
  Index iteration_ = 0;
  UpdateHistory history_;
};

}  // namespace headlight
