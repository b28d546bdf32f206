#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/datasets/batches/masking.h"
#include "headlight/datasets/dataset.h"
#include "headlight/distributed/processes.h"
#include "headlight/interpret/bootstrap.h"
#include "headlight/interpret/effects/ablation.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/point.h"

// Ablation of any parts of a model, one at a time or together.
namespace headlight {

// Parts ablated together in one experiment. parse_targets() parses their text form.
struct PartSet {
  std::string name = {};  // "5.1, mlp.3"
  std::vector<PointRange> targets = {};
  NumberRange positions = {};  // token positions in their sequences
};

struct PartAblationOptions {
  // zero, or mean over all tokens of the data at that point. resample works for heads only.
  AblationMode mode = AblationMode::zero;
  // Measure instead of the loss, for each token to predict; kl: from the unchanged model's
  // prediction. logit_difference needs answers, which only patching has.
  MetricKind metric = MetricKind::loss;
  Index batch_size = 12;
  BootstrapOptions bootstrap = {};
  std::optional<Masking> masking = {};  // the loss of hidden tokens, for bidirectional models
  Processes* processes = nullptr;       // share the batches: all call it and get the whole result
  std::function<void(double share)> progress = [](double) {};  // share of all batches, 0 to 1
};

// Rise of the loss without these parts, in nats a token.
struct PartEffect {
  std::string name;
  Interval rise;
};

struct PartAblationResult {
  Interval loss;                  // of the whole model
  std::vector<PartEffect> parts;  // in input order
  Index sequences = 0;            // documents, split at the context length
  Index tokens = 0;               // targets
};

// Runs the model over the data once for each set of parts, with the whole set replaced by
// Interventions. Layers below the first changed one are computed once for all sets. Means come from
// one pass of the unchanged model over the data. Intervals are as in ablate_heads().
//
// Throws Error about "mode" for resample, about "off" for targets that the model does not have and
// for attention maps with mode mean, for no parts, and for data without targets.
PartAblationResult ablate_parts(const Gpt& model, const TokenDataset& data,
                                const std::vector<PartSet>& parts,
                                const PartAblationOptions& options = {});

// Returns one set for each part of a kind: one a layer for "mlp", "attn" and "layer" (attention and
// MLP); one a neuron for "neuron.5" and "neuron.5.0-99". Throws Error about "each" for other text,
// and for layers or neurons that the model does not have.
std::vector<PartSet> each_part(const Gpt& model, std::string_view kind);

}  // namespace headlight
