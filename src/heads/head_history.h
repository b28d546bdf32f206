#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "headlight/heads/head_id.h"

namespace headlight {

// What heads.jsonl and metrics.jsonl tell about the heads of a run, [times] each; NaN where a
// number is missing.
struct HeadHistory {
  std::vector<double> iterations;  // updates made
  std::vector<double> loss;        // in training, the mean since the time before
  std::vector<double> first_copy;  // loss on random tokens, and when they are repeated
  std::vector<double> second_copy;
  std::vector<double> in_context;  // second_copy - first_copy
  std::vector<HeadId> heads;
  // Queries that the scores of a time are means over: on the text, and on repeated random tokens.
  // NaN where an older version of the program has not written them.
  double text_places = 0;
  double repeat_places = 0;
  // Of a score: the curve of every head, [heads][times].
  std::map<std::string, std::vector<std::vector<double>>> scores;
};

// Throws Error, naming the file, when it is missing or holds no time. A last line that is not
// whole, of a run that is still training, is left out.
HeadHistory read_head_history(const std::filesystem::path& run);

// The first time that a head reached a score.
struct HeadBirth {
  HeadId head;
  std::size_t time = 0;  // place in the history
  // False where so few places were measured that the head may never have had the score: even the
  // most that it had lies less above the threshold than chance allows, see bounded_mean().
  bool settled = true;
};

// Of every head that reached `threshold`, the earliest first.
std::vector<HeadBirth> head_births(const HeadHistory& history, const std::string& score,
                                   double threshold);

// Places of the heads, the highest last value of a score first.
std::vector<std::size_t> heads_by_last(const HeadHistory& history, const std::string& score);

}  // namespace headlight
