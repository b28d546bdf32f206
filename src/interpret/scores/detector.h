#pragma once

#include <array>

#include "headlight/interpret/scores/head_scores.h"
#include "interpret/scores/head_map.h"

namespace headlight {

// The numbers of DetectorScores in order, as `mul`, then as `abs`.
using DetectorNumbers = std::array<double, 6>;

// Computes TransformerLens's compute_head_attention_similarity_score() of one map for its three 0/1
// patterns. `mul` is the share of the head's weight on the ones; 0 if all weight is excluded. `abs`
// is 1 minus the mean absolute difference per query, rounded to three decimals as there.
DetectorNumbers detector_numbers(const HeadMap& map, const HeadScoreOptions& options);

}  // namespace headlight
