#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "headlight/interpret/attention_maps.h"
#include "headlight/nn/language_model.h"

namespace headlight {

struct HeadScoreFile {
  std::map<HeadId, HeadScore> scores;
  // One line about a file that may hold the scores of another model; "" if its fingerprint is the
  // model's.
  std::string doubt = {};
};

// Reads head classes from heads.json, as written by `headlight heads --out`: {"model_fingerprint":
// "...", "heads": [{"head": "0.1", "verdict": "previous_token", "verdict_score": 0.97, "settled":
// true}]}. "score" is accepted too, and the fingerprint is optional. Heads without a verdict or
// score are left out. Throws Error, naming the file, for other formats, for another model's scores
// (see HeadScores::model_fingerprint), and for heads that the model does not have. Rounded
// weights, as of int8, have another fingerprint: this gives a doubt instead of an Error.
HeadScoreFile read_head_scores(const std::filesystem::path& path, const LanguageModel& model);

// A score of each head, such as "induction".
struct HeadScoreColumn {
  std::map<HeadId, double> scores;  // without heads for which it is null
  std::string doubt = {};           // see HeadScoreFile
};

// Reads a score of each head from heads.json. Throws Error as read_head_scores() does, and about
// "score" if no head has it.
HeadScoreColumn read_head_score(const std::filesystem::path& path, const LanguageModel& model,
                                const std::string& score);

}  // namespace headlight
