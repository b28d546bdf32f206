#pragma once

#include <optional>
#include <vector>

#include "headlight/nn/batch.h"
#include "python/autograd/arrays.h"
#include "python/model/inputs.h"
#include "python/model/model.h"

namespace headlight::python {

// Result of a pass.
struct Output {
  Array logits;                // [B, T, V]; zeros behind the end of a sequence
  std::vector<Index> lengths;  // [B]
  std::optional<double> loss;  // nats a target; none without targets
};

// Returns the batch of the inputs. `targets`: ids of the same shapes, -1 where a position has none,
// or "next", each sequence shifted by one. Throws Error about "inputs" or "targets".
Batch batch_of(const Model& model, const Inputs& inputs, const std::optional<Inputs>& targets);

// Returns the ids of each sequence.
std::vector<std::vector<std::int32_t>> sequences_of(const Batch& batch);

// Computes logits and, if the batch has targets and `with_loss`, the loss.
Output forward(Model& model, const Batch& batch, bool with_loss);

}  // namespace headlight::python
