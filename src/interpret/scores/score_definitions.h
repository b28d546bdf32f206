#pragma once

#include <functional>
#include <vector>

#include "headlight/interpret/scores/head_scores.h"
#include "interpret/scores/head_map.h"

namespace headlight {

// Input of a score.
enum class ScoreSource {
  text,     // attention on the given text
  repeats,  // attention on repeated random tokens
  offsets,  // share of queries with their largest weight at each offset, on the text
  weights,  // matrices of the model
};

struct ScoreDefinition {
  ScoreInfo info;
  ScoreSource source = ScoreSource::text;
  // Sum and number of the queries with this score in a map. Empty for `offsets` and `weights`.
  std::function<DocumentSum(const HeadMap& map)> measure = {};
  bool needs_causal = true;  // not measured on maps without a causal mask
};

// All scores except of own relations. Add new scores here only.
const std::vector<ScoreDefinition>& score_definitions();
// The definitions of score_list_with().
std::vector<ScoreDefinition> definitions_with(const std::vector<SequencePairs>& annotations);

}  // namespace headlight
