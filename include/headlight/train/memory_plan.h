#pragma once

#include "headlight/nn/gpt_config.h"
#include "headlight/train/train_config.h"

namespace headlight {

// Bytes that a training run takes.
struct MemoryPlan {
  double weights = 0;
  double gradients = 0;    // and the sums of shards that wait for others
  double moments = 0;      // of the optimizer
  double snapshot = 0;     // of weights and moments, for saving while training goes on
  double activations = 0;  // an estimate for a full batch, forward and backward
  double data = 0;         // token ids of texts; those of token files stay there
  double available = 0;    // before anything of it was taken; 0: unknown

  double total() const { return weights + gradients + moments + snapshot + activations + data; }
};

// All but the data, which is known only when it has been read. Of one among `processes`, and of
// process 0 where they differ.
MemoryPlan plan_memory(const TrainConfig& config, const GptConfig& model, Index processes = 1);

// Throws Error with both numbers and the option to change when the plan takes more than is
// available.
void require_memory(const MemoryPlan& plan);

}  // namespace headlight
