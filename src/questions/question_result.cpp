#include "questions/question_result.h"

#include <algorithm>

#include "show/report/parts/terminal_text.h"

namespace headlight {
namespace {

constexpr std::size_t kCautionColumns = 100;

}  // namespace

std::string text_of(const QuestionResult& result, Index limit) {
  std::string text = result.caution.empty() ? "" : wrapped(result.caution, kCautionColumns) + "\n";
  text += result.heading;
  for (const Table& table : result.tables) {
    text += "\n" + table.text_to(limit);
  }
  return text + result.footing;
}

Json json_of(const QuestionResult& result, std::string_view rows_key) {
  Json json = result.facts;
  if (result.rows) {
    json.add(std::string(rows_key), result.rows());
  }
  return json;
}

ResultPage page_of(const QuestionResult& result) {
  std::string note = result.caution + (result.caution.empty() ? "" : ". ") + result.heading;
  note.erase(note.find_last_not_of('\n') + 1);
  std::ranges::replace(note, '\n', ' ');
  return {.title = result.title,
          .note = note,
          .graph = result.graph ? result.graph() : "",
          .grids = result.grids};
}

ResultArrays arrays_of(const QuestionResult& result) {
  return result.arrays ? *result.arrays : arrays_of(result.grids);
}

std::string figure_of(const QuestionResult& result) {
  if (result.graph || result.curve) {
    return result.graph ? result.graph() : result.curve();
  }
  require(!result.grids.empty(), "this result has no figure");
  return matrix_plot_svg(result.grids.front().plot);
}

}  // namespace headlight
