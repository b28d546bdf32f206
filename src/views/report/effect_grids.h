#pragma once

#include <vector>

#include "headlight/heads/effects/ablation.h"
#include "headlight/heads/effects/importance.h"
#include "headlight/heads/effects/patching.h"
#include "views/result/result.h"

// Effects of heads as grids of layers by heads.
namespace headlight {

// Returns "rise" with intervals and, if pairs were ablated, "pair_rise" and "pair_beyond" of first
// by second head, above the diagonal only.
std::vector<ResultGrid> ablation_grids(const AblationResult& result);

// Returns "sensitivity", "taylor" and, if there are effects of ablation, "ablation".
std::vector<ResultGrid> importance_grids(const ImportanceResult& importance,
                                         const std::vector<HeadEffect>& effects);

// Returns "recovered" and "difference".
std::vector<ResultGrid> patching_grids(const PatchingResult& result);

}  // namespace headlight
