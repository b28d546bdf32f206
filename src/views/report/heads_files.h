#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "headlight/heads/head_scores.h"
#include "headlight/heads/redundancy.h"

namespace headlight {

// Everything that `headlight heads` finds out.
struct HeadsReport {
  HeadScores scores;
  std::optional<HeadDistances> distances;  // of all heads that were scored
  double threshold = 0;                    // of `distances`
  Language language = Language::english;
  bool random_tokens = false;  // the scores are of repeated random tokens: there was no text
};

// The means of a score over the heads of each layer that has any.
struct LayerMeans {
  Index layer = 0;
  double entropy = 0;
  double mean_distance = 0;
  double confidence = 0;
  double sparsity = 0;
};
std::vector<LayerMeans> layer_means(const HeadScores& scores);

// With these of its heads, in this order.
Json report_json(const HeadsReport& report, const std::vector<ScoredHead>& heads);

// Writes heads.json with all heads in order, heads.csv, heads.npz and, as they were computed,
// redundancy.svg and k_composition.svg, into a directory that is made when missing. Returns their
// paths.
std::vector<std::string> write_report(const HeadsReport& report,
                                      const std::filesystem::path& directory);

}  // namespace headlight
