#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/cluster/processes.h"
#include "headlight/data/dataset.h"
#include "headlight/heads/ablation.h"
#include "headlight/heads/bootstrap.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/point.h"

// Ablation of any parts of a model, one by one or several at once.
namespace headlight {

// What is ablated at once: one experiment. See parse_targets() for texts.
struct PartSet {
  std::string name = {};  // "5.1, mlp.3"
  std::vector<PointRange> targets = {};
  NumberRange positions = {};  // of tokens in their sequences
};

struct PartAblationOptions {
  // zero, or mean: over all tokens of the data at that point; resample is of heads alone.
  AblationMode mode = AblationMode::zero;
  Index batch_size = 12;
  BootstrapOptions bootstrap = {};
  Processes* processes = nullptr;  // that share the batches: all call it, and all get its result
  std::function<void(double share)> progress = {};  // 0 to 1 over experiments and batches
};

// How much the loss rises, in nats a token, without these parts.
struct PartEffect {
  std::string name;
  Interval rise;
};

struct PartAblationResult {
  Interval loss;                  // of the whole model
  std::vector<PartEffect> parts;  // in the order in which they were given
  Index sequences = 0;            // documents, cut where they are longer than the block
  Index tokens = 0;               // targets
};

// Runs the model over the data once for each set of parts, with all of the set replaced as
// Interventions do; layers below the first changed one are computed once for all sets. Means are
// those of the whole model, from one walk over the data. Intervals are as those of ablate_heads().
//
// Throws Error about "mode" for resample, and about "off" for targets that the model does not have,
// and for attention maps with mode mean; without any part, and when the data has no target.
PartAblationResult ablate_parts(const Gpt& model, const TokenDataset& data,
                                const std::vector<PartSet>& parts,
                                const PartAblationOptions& options = {});

// One set for each part of a kind: "mlp", "attn" and "layer" (attention and MLP), one a layer;
// "neuron.5" or "neuron.5.0-99", one a neuron. Throws Error about "each" for another text, and for
// layers or neurons that the model does not have.
std::vector<PartSet> each_part(const Gpt& model, std::string_view kind);

}  // namespace headlight
