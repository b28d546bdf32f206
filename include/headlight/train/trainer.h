#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "headlight/datasets/batches/batcher.h"
#include "headlight/distributed/processes.h"
#include "headlight/nn/language_model.h"
#include "headlight/optim/optimizer.h"
#include "headlight/optim/weight_average.h"
#include "headlight/train/train_config.h"
#include "headlight/train/training_state.h"

namespace headlight {

// Time of one step by phase, in seconds.
struct PhaseSeconds {
  double data = 0;       // building the batches
  double forward = 0;    // forward pass of all batches
  double backward = 0;   // backward pass of all batches
  double optimizer = 0;  // clearing, measuring and clipping gradients, and the optimizer step

  double total() const { return data + forward + backward + optimizer; }
};

// Result of a step.
enum class StepOutcome {
  updated,
  skipped,   // weights and moments are unchanged
  unusable,  // nothing has changed, and the caller must roll back (on_nan is rollback)
};

// Metrics of one step.
struct StepMetrics {
  Index iteration = 0;  // number of the step, from 0
  double loss = 0;      // mean over the step's targets, before the weights change
  double learning_rate = 0;
  double gradient_norm = 0;  // before clipping
  Index tokens = 0;          // targets: tokens that are learned
  Index inputs = 0;          // tokens that are computed
  Index terms = 0;           // of the loss: see Batch::loss_terms()
  double seconds = 0;
  PhaseSeconds phases = {};  // sums to `seconds`
  StepOutcome outcome = StepOutcome::updated;
  std::string reason = {};  // empty if outcome is updated
};

// Thrown when training cannot continue: steps keep failing or produce non-finite numbers.
class DivergedError : public Error {
 public:
  using Error::Error;
};

class ShardedGradients;  // src/distributed/sharded_gradients.h

// Returns the sum of a batch's loss, divided by `normalizer`; a scalar with its gradient.
using LossFunction =
    std::function<Tensor(const Batch& batch, const ForwardContext& context, Index normalizer)>;

// Trains one step at a time. A step depends only on the configuration, the dataset, the step number
// and the history before it.
class Trainer {
 public:
  // The references must outlive the trainer. With several processes each has its own trainer with
  // the same configuration, weights and data. They make each step together and then have equal
  // weights. Throws Error when optimizer is muon and the model has no hidden matrices, and when
  // there are more processes than shards.
  Trainer(const TrainConfig& config, LanguageModel& model, const TokenDataset& dataset,
          Processes& processes = alone());
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Trains with another loss than LanguageModel::loss().
  void set_loss(LossFunction loss) { loss_ = std::move(loss); }

  // Makes one step from gradient_accumulation_steps batches. Loss and gradients are means over all
  // their targets, or pairs. A loss or gradient that is not finite never reaches the weights:
  // on_nan decides the outcome. Skips loss spikes if skip_spikes is set. Throws DivergedError, with
  // the weights unchanged, when on_nan is stop or after max_bad_updates skipped steps in a row.
  StepMetrics step();
  // Makes steps until `max_iters` of the configuration, or until `after`, which gets the metrics of
  // each, returns false. Returns the metrics of the last step. Throws as step() does.
  StepMetrics fit(const std::function<bool(const StepMetrics&)>& after = {});

  // Continues at another step with this history. The caller sets weights and moments.
  void go_to(Index iteration, UpdateHistory history);

  Index iteration() const { return iteration_; }
  const UpdateHistory& history() const { return history_; }
  // Returns the position of the next step's data.
  DataPosition data_position() const;
  double learning_rate() const { return rate_factor_ * schedule_.at(iteration_); }
  // Multiplies the rates of the schedule from now on. No checkpoint keeps the factor.
  void set_rate_factor(double factor) { rate_factor_ = factor; }
  Index batches_per_epoch() const { return batcher_.batches_per_epoch(); }
  // With several processes, the optimizer of a part of the parameters.
  Optimizer& optimizer() { return *optimizer_; }
  // Exchanges the weights with their moving average, if ema_decay is set: for evaluations and
  // checkpoints. A second call undoes the first; step() needs the weights.
  void exchange_average();
  // Returns the optimizer state of all processes and the state of the average for saving. Only
  // process 0 gets the former.
  NamedTensors gather_optimizer_state();
  // The first returns uninitialised tensors for the whole; the second loads this process's part.
  NamedTensors empty_optimizer_state() const;
  void set_optimizer_state(const NamedTensors& whole);

 private:
  Index next_batch() const;
  std::vector<Batch> next_batches();
  ForwardContext context_of(Index batch) const;
  double add_gradients(const std::vector<Batch>& batches, std::optional<Index> shard,
                       StepMetrics& metrics);
  void compute_gradients(const std::vector<Batch>& batches, StepMetrics& metrics);
  void set_outcome(StepMetrics& metrics) const;
  void record_skipped_step(const StepMetrics& metrics);
  NamedTensors average_state() const;

  const TrainConfig& config_;
  LanguageModel& model_;
  const TokenDataset& dataset_;
  NamedTensors parameters_;
  LearningRateSchedule schedule_;
  double rate_factor_ = 1;
  Precision precision_;
  Batcher batcher_;
  LossFunction loss_;
  std::unique_ptr<ShardedGradients> sharded_;  // null: one process, one shard
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<WeightAverage> average_;  // each process has a whole one
  Index iteration_ = 0;
  UpdateHistory history_;
};

}  // namespace headlight
