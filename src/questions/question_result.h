#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "show/report/parts/table.h"
#include "show/result/result.h"

namespace headlight {

// The answer to a question, from which text, JSON, arrays, figures and pages are made.
struct QuestionResult {
  std::string title;                        // of the page
  std::string caution = {};                 // a line for the reader; "": none
  std::string heading = {};                 // lines above the tables
  Json facts = Json::object();              // single values
  std::function<Json()> rows = {};          // a list of objects with the same keys
  std::vector<Table> tables = {};           // of the text
  std::string footing = {};                 // lines below the tables
  std::vector<ResultGrid> grids = {};       // the first is the figure
  std::function<std::string()> graph = {};  // SVG instead of the figure, and on the page
  std::function<std::string()> curve = {};  // SVG instead of the figure
  std::function<std::string()> chart = {};  // SVG, see Question::chart
  std::optional<ResultArrays> arrays = {};  // instead of those of the grids
};

// Returns the text for a terminal, with the first `limit` rows of ranked tables; 0: all.
std::string text_of(const QuestionResult& result, Index limit);
// Returns the facts, and the rows under a key.
Json json_of(const QuestionResult& result, std::string_view rows_key);
ResultPage page_of(const QuestionResult& result);
ResultArrays arrays_of(const QuestionResult& result);
// Returns the figure as SVG.
std::string figure_of(const QuestionResult& result);

}  // namespace headlight
