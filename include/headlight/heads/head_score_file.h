#pragma once

#include <filesystem>
#include <map>

#include "headlight/heads/attention_maps.h"
#include "headlight/nn/language_model.h"

namespace headlight {

struct HeadScoreFile {
  std::map<HeadId, HeadScore> scores;
  bool names_model = false;  // the file says whose scores it holds: this model's
};

// The classes of heads in a file that `headlight heads --out` wrote, heads.json:
// {"model_fingerprint": "...", "heads": [{"head": "0.1", "verdict": "previous_token",
// "verdict_score": 0.97, "settled": true}]}; "score" is read as well, and the fingerprint may be
// missing. Heads without a verdict or a score are left out. Throws Error naming the file when it is
// something else, holds the scores of another model (see HeadScores::model_fingerprint), or tells
// of heads that the model does not have.
HeadScoreFile read_head_scores(const std::filesystem::path& path, const LanguageModel& model);

}  // namespace headlight
