#pragma once

#include "headlight/nn/gpt_config.h"
#include "headlight/train/train_config.h"

namespace headlight {

// Bytes of memory that a training run needs.
struct MemoryPlan {
  Index parameters = 0;  // their number
  double weights = 0;
  double gradients = 0;    // including the partial sums of shards
  double moments = 0;      // optimizer state, and the average of ema_decay
  double snapshot = 0;     // copy of weights and moments, for saving during training
  double activations = 0;  // estimate for a full batch, forward and backward
  double data = 0;         // token ids of texts; token files stay on disk
  double available = 0;    // free before the run allocates anything; 0: unknown

  double total() const { return weights + gradients + moments + snapshot + activations + data; }
};

// Plans one process of `processes`; where processes differ, process 0. Leaves `data` at 0: it is
// only known once the data is read. `stored` is the bytes of the weights with base_weights =
// stored; 0 counts them as float32.
MemoryPlan plan_memory(const TrainConfig& config, const GptConfig& model, Index processes = 1,
                       double stored = 0);

// Throws Error when the plan exceeds the available memory. The message has both numbers and the
// option to change.
void require_memory(const MemoryPlan& plan);

}  // namespace headlight
