#pragma once

#include "headlight/heads/head_scores.h"
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

// TransformerLens's compute_head_attention_similarity_score() of one map with its three patterns of
// ones and zeros: `mul` is the share of the head's weight that lies on the ones, `abs` is 1 minus
// the mean absolute difference a query, rounded to three decimals as there. `mul` of a head whose
// whole weight is excluded is 0.
DetectorPair detector_scores(const HeadMap& map, const DetectorOptions& options);

}  // namespace headlight
