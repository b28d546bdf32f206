#include "questions/question_result.h"

#include <algorithm>

#include "show/report/parts/json_output.h"
#include "show/report/parts/terminal_text.h"

namespace headlight {
namespace {

constexpr std::size_t kCautionColumns = 100;

std::vector<ResultGrid> all_grids(const QuestionResult& result) {
  std::vector<ResultGrid> grids;
  for (const ResultTable& table : result.tables) {
    std::ranges::move(grids_of(table, result.note), std::back_inserter(grids));
  }
  grids.insert(grids.end(), result.grids.begin(), result.grids.end());
  return grids;
}

}  // namespace

std::string text_of(const QuestionResult& result, Index limit) {
  const std::string caution = result.caution.value_or("");
  std::string text = caution.empty() ? "" : wrapped(caution, kCautionColumns) + "\n";
  text += result.heading;
  for (const ResultTable& table : result.tables) {
    if (const Table shown = text_table(table); !shown.empty()) {
      text += "\n" + shown.text_to(limit);
    }
  }
  return text + result.footing;
}

Json facts_of(const QuestionResult& result) {
  Json facts = Json::object();
  if (result.caution) {
    facts.add("caution", text_or_null(*result.caution));
  }
  facts.update(result.facts);
  for (const ResultTable& table : result.tables) {
    if (!table.key.empty()) {
      facts.add(table.key, rows_of(table, [] {}));
    }
  }
  return facts;
}

Json json_of(const QuestionResult& result, std::string_view rows_key,
             const std::function<void()>& pause) {
  Json json = facts_of(result);
  for (const ResultTable& table : result.tables) {
    if (table.key.empty()) {
      json.add(std::string(rows_key), rows_of(table, pause));
    }
  }
  return json;
}

ResultPage page_of(const QuestionResult& result) {
  const std::string caution = result.caution.value_or("");
  std::string note = caution + (caution.empty() ? "" : ". ") + result.heading;
  note.erase(note.find_last_not_of('\n') + 1);
  std::ranges::replace(note, '\n', ' ');
  return {.title = result.title,
          .note = note,
          .graph = result.graph ? result.graph() : "",
          .grids = all_grids(result),
          .texts = result.texts};
}

ResultArrays arrays_of(const QuestionResult& result) {
  return result.arrays.tensors.empty() ? arrays_of(all_grids(result)) : result.arrays;
}

std::string figure_of(const QuestionResult& result) {
  if (result.graph || result.curve) {
    return result.graph ? result.graph() : result.curve();
  }
  const std::vector<ResultGrid> grids = all_grids(result);
  require(!grids.empty(), "this result has no figure");
  return matrix_plot_svg(grids.front().plot);
}

}  // namespace headlight
