#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/data/dataset.h"
#include "headlight/heads/head_id.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// What says which head goes next: the one with the least
enum class PruneRanking {
  ablation,  // rise of the loss without it, see ablate_heads
  // Sensitivity, see head_importance: one pass instead of many. Not normalised by layer: that is
  // made for layers that matter alike, which those of small models do not.
  sensitivity,
};

template <>
inline constexpr auto kChoices<PruneRanking> = std::to_array<Choice<PruneRanking>>(
    {{"ablation", PruneRanking::ablation}, {"sensitivity", PruneRanking::sensitivity}});

struct PrunePlanOptions {
  Index keep = 0;  // stop with so many heads left; a layer keeps one in any case
  // Stop before the loss has risen by more, in nats a token.
  double largest_rise = std::numeric_limits<double>::infinity();
  PruneRanking ranking = PruneRanking::ablation;
  Index rounds = 8;  // how often heads are ranked anew, as those that are left take over
  Index batch_size = 12;
};

// One step of pruning.
struct PrunePoint {
  Index kept = 0;                      // heads of all layers together
  double loss = 0;                     // with them, in nats a token
  std::optional<HeadId> removed = {};  // what went in this step, named as in the whole model
};

struct PrunePlan {
  std::vector<HeadId> heads;       // to prune, in the order in which they go
  std::vector<PrunePoint> points;  // from the whole model on; the last may be one step too many
};

// Removes heads one by one, the least important first, and measures the loss after each: Michel,
// Levy and Neubig, arXiv 1905.10650, section 4.2. Each round ranks the heads that are left and
// takes an equal share of those that have to go; after each round the model is smaller and faster.
// Throws Error when the data has no target and for options out of range.
PrunePlan plan_pruning(const Gpt& model, const TokenDataset& data,
                       const PrunePlanOptions& options = {});

}  // namespace headlight
