#include "base/json.h"
#include "base/strings/display_text.h"
#include "base/transformed.h"
#include "show/html/filled_page.h"
#include "show/plot/svg.h"
#include "show/result/result.h"

namespace headlight {
namespace {

Json grid_json(const ResultGrid& grid) {
  const MatrixPlot& plot = grid.plot;
  return {{"title", printable_text(plot.title)},
          {"note", printable_text(plot.note)},
          {"row_title", plot.row_title},
          {"column_title", printable_text(plot.column_title)},
          {"rows", transformed(plot.rows, printable_text)},
          {"columns", transformed(plot.columns, printable_text)},
          {"values", plot.values},
          {"lows", plot.lows},
          {"highs", plot.highs},
          {"texts", transformed(plot.texts, printable_text)},
          {"limit", plot.limit},
          {"doubtful", plot.doubtful}};
}

}  // namespace

std::string result_html(const ResultPage& page) {
  if (!page.texts.empty()) {
    return coloured_text_html({.title = page.title, .note = page.note, .texts = page.texts});
  }
  PageValues values{
      {"attributes", "lang=\"en\""},
      {"title", escape_markup(printable_text(page.title))},
      {"note", escape_markup(printable_text(page.note))},
      {"graph", page.graph},
      {"words", "{}"},
      {"data",
       data_element("data", embedded_json({{"grids", transformed(page.grids, grid_json)}}))}};
  return page_start({page_files(), "results/"}, std::move(values)).append(kPageEnd);
}

}  // namespace headlight
