#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "headlight/interpret/head_id.h"

namespace headlight {

// Training history of a run's heads. Vectors are [times]; NaN for missing numbers.
struct HeadHistory {
  std::vector<double> iterations;  // optimizer steps done
  std::vector<double> loss;        // training loss, mean since the previous time
  std::vector<double> first_copy;  // loss on random tokens; second_copy: on their repetition
  std::vector<double> second_copy;
  std::vector<double> in_context;  // second_copy - first_copy
  std::vector<HeadId> heads;
  // Queries in the means of one time, on the text and on repeated random tokens; NaN if missing.
  double text_positions = 0;
  double repeat_positions = 0;
  // By score name: one curve for each head, [heads][times].
  std::map<std::string, std::vector<std::vector<double>>> scores;
};

// Reads the history of a run directory. Throws Error, naming the file, if it is missing or has no
// lines. Ignores an incomplete last line, which a running training may leave.
HeadHistory read_head_history(const std::filesystem::path& run);

// First time at which a head reached a threshold.
struct HeadBirth {
  HeadId head;
  std::size_t time = 0;  // index in the history
  // False if the best score's bounded_mean() reaches below the threshold: too few queries.
  bool significant = true;
};

// Births of all heads that reached `threshold`, earliest first.
std::vector<HeadBirth> head_births(const HeadHistory& history, const std::string& score,
                                   double threshold);

// Indices of the heads, sorted by the last value of a score, highest first.
std::vector<std::size_t> heads_by_last(const HeadHistory& history, const std::string& score);

}  // namespace headlight
