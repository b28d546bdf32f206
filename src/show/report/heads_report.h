#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "headlight/interpret/scores/head_scores.h"
#include "show/result/result_table.h"

// Scores of heads as tables, text and files.
namespace headlight {

// Results of `headlight heads`.
struct HeadsReport {
  HeadScores scores;
  double threshold = 0;  // cluster threshold of the distances
  Language language = Language::english;
  bool random_tokens = false;  // scored on repeated random tokens instead of a text
};

// Returns a row for each head: its name, verdict and the scores of `list` (HeadScores::list). All
// columns with arrays have a title. Throws Error "annotations: ..." if a relation has the name of
// another column.
ResultTable head_table(const std::vector<ScoredHead>& heads, const std::vector<ScoreInfo>& list,
                       Language language = Language::english);
// Returns the names of the columns that are shown by default: head, verdict, and the usual scores
// that were measured.
std::string default_columns(const HeadScores& scores);
// Returns the mean of some scores over the heads of each layer. The text has two of them, as bars.
ResultTable layer_table(const HeadScores& scores, Language language);

// Returns the report as JSON with these heads in this order.
Json report_json(const HeadsReport& report, const std::vector<ScoredHead>& heads);

// Writes heads.json, heads.csv and heads.npz of all heads, and redundancy.svg
// and k_composition.svg if computed for at most 256 heads. Creates `directory` if missing. Returns
// the paths.
std::vector<std::string> write_report(const HeadsReport& report,
                                      const std::filesystem::path& directory);

struct HeadsTextOptions {
  Index width = 0;      // terminal width; columns that do not fit are omitted; 0: no limit
  bool colour = false;  // ANSI colours
  bool legend = false;  // explain the units of the default columns
};

// Returns the report as text: columns of `heads`, a sentence for each, means of the layers, and
// clusters of redundant heads.
std::string heads_text(const HeadsReport& report, const std::vector<ScoredHead>& heads,
                       const ResultTable& table, const HeadsTextOptions& options);

// Returns "duplicated patterns: 0.1 0.3 look at the same places ..." for each cluster.
std::vector<std::string> cluster_warnings(const HeadsReport& report);

}  // namespace headlight
