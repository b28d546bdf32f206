#pragma once

#include <memory>

#include "headlight/nn/gpt.h"
#include "headlight/optim/optimizer.h"
#include "headlight/train/train_config.h"

namespace headlight {

// Where the time of one update went, in seconds.
struct PhaseSeconds {
  double data = 0;       // putting the batches together
  double forward = 0;    // the losses of all batches
  double backward = 0;   // their gradients
  double optimizer = 0;  // clearing gradients, their norm, clipping, the update itself

  double total() const { return data + forward + backward + optimizer; }
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
};

// The training loop's inner part: batches in, updates out. Everything it does is a function of the
// configuration, the dataset and the number of the update.
class Trainer {
 public:
  // All must outlive the trainer. `first_iteration` is the number of updates already made.
  Trainer(const TrainConfig& config, Gpt& model, const TokenDataset& dataset,
          Index first_iteration = 0);

  // One update from gradient_accumulation_steps batches; the loss and the gradients are means over
  // all their targets together. Throws Error, with the weights untouched, when the loss or the
  // gradient is not finite.
  StepMetrics step();

  Index iteration() const { return iteration_; }
  Index batches_per_epoch() const { return batcher_.batches_per_epoch(); }
  Optimizer& optimizer() { return *optimizer_; }

 private:
  const TrainConfig& config_;
  Gpt& model_;
  NamedTensors parameters_;
  LearningRateSchedule schedule_;
  Precision precision_;
  Batcher batcher_;
  std::unique_ptr<Optimizer> optimizer_;
  Index iteration_;
};

}  // namespace headlight
