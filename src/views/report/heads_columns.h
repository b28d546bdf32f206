#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/heads/head_scores.h"

namespace headlight {

// One thing that can be shown of a head, sorted and filtered by.
struct HeadColumn {
  std::string name;   // "previous_token"
  std::string title;  // "prev"
  std::string korean_title;
  bool is_text = false;
  bool is_share = false;  // a number from 0 to 1
  int decimals = 2;
  // Exactly one of them, after is_text. A number that was not measured is NaN.
  std::function<double(const ScoredHead&)> number = {};
  std::function<std::string(const ScoredHead&)> text = {};
  // How people read a text, where that differs from what programs do.
  std::function<std::string(const ScoredHead&, Language)> label = {};

  // For tables that people read.
  std::string cell(const ScoredHead& head, Language language) const;
  const std::string& heading(Language language) const {
    return language == Language::korean ? korean_title : title;
  }
};

// Every column: those of the head, all of score_list(), and TransformerLens's scores.
const std::vector<HeadColumn>& head_columns();
// The column called `name`. Throws Error "OPTION: ..." naming the nearest column.
const HeadColumn& head_column(std::string_view name, std::string_view option = "columns");
// The columns called "a,b,c". Throws Error "columns: ..." when there is none of that name.
std::vector<HeadColumn> parse_columns(const std::string& names);
// What a table shows when no columns are chosen: what verdicts rest on, then what is usual and was
// measured.
std::vector<HeadColumn> usual_columns(const HeadScores& scores);

// Keeps the heads that meet every condition of "induction>0.5,layer>=2,verdict=induction". Throws
// Error "filter: ..." for other text.
void filter_heads(const std::string& conditions, std::vector<ScoredHead>& heads);
// Numbers from the largest down, names of heads and texts from the smallest up; `ascending` turns
// numbers around. What was not measured comes last. Throws Error "sort: ..." for another name.
void sort_heads(const std::string& column, bool ascending, std::vector<ScoredHead>& heads);

}  // namespace headlight
