#pragma once

#include "headlight/heads/scores/head_scores.h"
#include "heads/head_map.h"

namespace headlight {

struct DetectorOptions {
  bool exclude_bos = false;
  bool exclude_current_token = false;
};

struct DetectorPair {
  DetectorScores mul;
  DetectorScores abs;
};

// Computes TransformerLens's compute_head_attention_similarity_score() of one map for its three 0/1
// patterns. `mul` is the share of the head's weight on the ones; 0 if all weight is excluded. `abs`
// is 1 minus the mean absolute difference per query, rounded to three decimals as in
// TransformerLens.
DetectorPair detector_scores(const HeadMap& map, const DetectorOptions& options);

}  // namespace headlight
