#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/interpret/scores/head_scores.h"

namespace headlight {

// A property of heads that tables can show, sort and filter by.
struct HeadColumn {
  std::string name;        // "previous_token"
  std::string title = {};  // empty: that of the language
  int decimals = 2;
  bool is_share = false;  // a number from 0 to 1
  // Value of the column: one of these two functions. NaN: not measured.
  std::function<double(const ScoredHead&)> number = {};
  std::function<std::string(const ScoredHead&)> text = {};
  // Text for display; empty: the same as `text`.
  std::function<std::string(const ScoredHead&, Language)> label = {};

  bool is_text() const { return text != nullptr; }
  // Returns the cell of a head in a printed table.
  std::string cell(const ScoredHead& head, Language language) const;
  // Returns the title of the column: "prev".
  std::string heading(Language language) const;
};

using HeadColumns = std::vector<HeadColumn>;

// Returns all columns: head, verdict, the scores of `list` (HeadScores::list), and
// TransformerLens's scores. Throws Error "annotations: ..." if a relation has the name of another
// column.
HeadColumns head_columns(const std::vector<ScoreInfo>& list);
// Returns the column called `name`. Throws Error "OPTION: ..." with the nearest name.
const HeadColumn& head_column(const HeadColumns& columns, std::string_view name,
                              std::string_view option = "columns");
// Returns the columns called "a,b,c". Throws Error "columns: ..." for an unknown or no name.
HeadColumns parse_columns(const HeadColumns& columns, const std::string& names);
// Returns the default columns: head, verdict, and the usual scores that were measured.
HeadColumns default_columns(const HeadScores& scores);

// Keeps the heads that meet every condition of "induction>0.5,layer>=2,verdict=induction". Throws
// Error "filter: ..." for an invalid condition.
void filter_heads(const HeadColumns& columns, const std::string& conditions,
                  std::vector<ScoredHead>& heads);
// Sorts numbers from the largest down (`ascending`: from the smallest up); head, layer, index and
// texts always ascend. Unmeasured heads come last. Throws Error "sort: ..." for an unknown column.
void sort_heads(const HeadColumns& columns, const std::string& column, bool ascending,
                std::vector<ScoredHead>& heads);

}  // namespace headlight
