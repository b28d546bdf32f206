#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "headlight/nn/gpt.h"
#include "headlight/show/text/coloured_text.h"
#include "show/result/result_table.h"

namespace headlight {

// The answer to a question, from which text, JSON, arrays, figures and pages are made.
struct QuestionResult {
  std::string title;  // of the page
  // A line for the reader, also a fact; "": null there; none: the question has no such fact.
  std::optional<std::string> caution = {};
  std::string heading = {};                 // lines above the tables
  Json facts = Json::object();              // single values
  std::vector<ResultTable> tables = {};     // in the order of the text
  std::string footing = {};                 // lines below the tables
  std::string note = {};                    // warning of all views; "": none
  std::vector<ResultGrid> grids = {};       // besides the views; the first of all is the figure
  std::function<std::string()> graph = {};  // SVG instead of the figure, and on the page
  std::function<std::string()> curve = {};  // SVG instead of the figure
  std::function<std::string()> chart = {};  // SVG, see Question::chart
  // Texts in the colours of their values: the page instead of one of grids.
  std::vector<ColouredText> texts = {};
  ResultArrays arrays = {};                // instead of those of the grids
  std::unique_ptr<Gpt> model = {};         // of a question that makes one
  std::vector<std::string> warnings = {};  // about the answer, besides those of Asker::warn
};

// Returns the text for a terminal, with the first `limit` rows of ranked tables; 0: all.
std::string text_of(const QuestionResult& result, Index limit);
// Returns the facts with the lists of tables that have a key.
Json facts_of(const QuestionResult& result);
// Returns these facts, and the rows of the table without a key. Calls `pause` now and then.
Json json_of(
    const QuestionResult& result, std::string_view rows_key,
    const std::function<void()>& pause = [] {});
ResultPage page_of(const QuestionResult& result);
ResultArrays arrays_of(const QuestionResult& result);
// Returns the figure as SVG.
std::string figure_of(const QuestionResult& result);

}  // namespace headlight
