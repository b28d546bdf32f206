#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/datasets/dataset.h"
#include "headlight/interpret/head_id.h"
#include "headlight/nn/gpt.h"

namespace headlight {

// Criterion for the next head to remove: the lowest value goes first.
enum class PruneRanking {
  ablation,  // rise of the loss without the head, see ablate_heads()
  // Sensitivity, see head_importance(): one pass instead of many. Not normalised by layer, because
  // layers of small models differ in importance.
  sensitivity,
};

template <>
inline constexpr auto kChoices<PruneRanking> = std::to_array<Choice<PruneRanking>>(
    {{"ablation", PruneRanking::ablation}, {"sensitivity", PruneRanking::sensitivity}});

struct PrunePlanOptions {
  Index keep = 0;  // stop at this many heads; every layer keeps at least one
  // Stop before the loss has risen by more than this, in nats a token.
  double largest_rise = std::numeric_limits<double>::infinity();
  PruneRanking ranking = PruneRanking::ablation;
  Index rounds = 8;  // number of rankings; importance changes as heads go
  Index batch_size = 12;
  std::function<void(double share)> progress = [](double) {};  // finished share, 0 to 1
};

// One step of pruning.
struct PrunePoint {
  Index kept = 0;                      // heads in all layers
  double loss = 0;                     // with these heads, in nats a token
  std::optional<HeadId> removed = {};  // head removed in this step, numbered as in the whole model
};

struct PrunePlan {
  std::vector<HeadId> heads;       // heads to prune, in order of removal
  std::vector<PrunePoint> points;  // from the whole model on; the last may exceed the limit
};

// Removes heads one by one, least important first, and measures the loss after each (Michel, Levy
// and Neubig, arXiv 1905.10650, section 4.2). Each round ranks the remaining heads and removes an
// equal share. The model becomes smaller and faster after each round. Throws Error for data without
// targets and for options out of range.
PrunePlan plan_pruning(const Gpt& model, const TokenDataset& data,
                       const PrunePlanOptions& options = {});

}  // namespace headlight
