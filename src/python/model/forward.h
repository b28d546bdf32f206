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

// Beginning of a pass: tokens, or values in their place.
struct PassStart {
  Batch batch;
  Tensor values = {};               // [N, C]; undefined: the tokens'
  std::optional<Index> layer = {};  // whose input `values` are; none: they are embeddings
};

// Returns the start of a pass with tokens, or with floating-point `inputs` [T, C] or [B, T, C]:
// embeddings, or with `layer` the residual stream at the input of a layer, in the units of the
// model's family. `lengths`: tokens of each sequence of values; none: T. Throws Error about
// "inputs", "start_at_layer", "lengths".
PassStart start_of(const Model& model, const Inputs& inputs, const std::optional<Index>& layer,
                   const std::optional<std::vector<Index>>& lengths);

// Returns logits [N, V] of a pass, or of the last token of each sequence [B, V]. Call it while the
// model is in use. `hook` may be null.
Tensor logits_from(Model& model, const PassStart& start, bool last, ForwardHook* hook = nullptr);

// Returns the batch of the inputs. `targets`: ids of the same shapes, -1 where a position has none,
// or "next", each sequence shifted by one. Throws Error about "inputs" or "targets".
Batch batch_of(const Model& model, const Inputs& inputs, const std::optional<Inputs>& targets);

// Returns the ids of each sequence.
std::vector<std::vector<std::int32_t>> sequences_of(const Batch& batch);

// Computes logits and, if the batch has targets and `with_loss`, the loss.
Output forward(Model& model, const PassStart& start, bool with_loss);

}  // namespace headlight::python
