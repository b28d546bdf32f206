#pragma once

#include <vector>

#include "headlight/heads/head_scores.h"
#include "heads/head_map.h"

namespace headlight {

// What a score is computed from.
enum class ScoreSource {
  text,     // attention on the given text
  repeats,  // attention on repeated random tokens
  offsets,  // how often every offset has the largest weight on the text
  weights,  // the matrices of the model
};

struct ScoreDefinition {
  ScoreInfo info;
  ScoreSource source = ScoreSource::text;
  // Sum and number over the queries of one map for which the score exists; nullptr for `offsets`
  // and `weights`.
  DocumentSum (*measure)(const HeadMap& map) = nullptr;
};

// The one list of scores: to add a score, add it here.
const std::vector<ScoreDefinition>& score_definitions();

}  // namespace headlight
