#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "headlight/interpret/redundancy.h"
#include "headlight/interpret/scores/head_scores.h"

namespace headlight {

// Results of `headlight heads`.
struct HeadsReport {
  HeadScores scores;
  std::optional<HeadDistances> distances;  // between all scored heads
  double threshold = 0;                    // cluster threshold of `distances`
  Language language = Language::english;
  bool random_tokens = false;  // scored on repeated random tokens instead of a text
};

// Returns the mean of a score over the heads of each layer.
std::map<Index, double> layer_means(const HeadScores& scores, std::string_view score);

// Returns the report as JSON with these heads in this order.
Json report_json(const HeadsReport& report, const std::vector<ScoredHead>& heads);

// Writes heads.json, heads.csv and heads.npz of all heads, and redundancy.svg and k_composition.svg
// if computed for at most 256 heads. Creates `directory` if missing. Returns the paths.
std::vector<std::string> write_report(const HeadsReport& report,
                                      const std::filesystem::path& directory);

}  // namespace headlight
