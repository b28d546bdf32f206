#include "base/display_text.h"
#include "base/json.h"
#include "views/html/filled_page.h"
#include "views/plot/svg.h"
#include "views/result/result.h"

namespace headlight {
namespace {

Json labels(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) {
    list.push_back(printable_text(text));
  }
  return list;
}

Json grid_json(const MatrixPlot& plot) {
  return {{"title", printable_text(plot.title)},
          {"note", printable_text(plot.note)},
          {"row_title", plot.row_title},
          {"column_title", printable_text(plot.column_title)},
          {"rows", labels(plot.rows)},
          {"columns", labels(plot.columns)},
          {"values", plot.values},
          {"lows", plot.lows},
          {"highs", plot.highs},
          {"texts", labels(plot.texts)},
          {"limit", plot.limit},
          {"doubtful", plot.doubtful}};
}

}  // namespace

std::string result_html(const ResultPage& page, const std::string& page_files) {
  Json grids = Json::array();
  for (const ResultGrid& grid : page.grids) {
    grids.push_back(grid_json(grid.plot));
  }
  return filled_page(page_reader(page_files), "results/",
                     {{"title", escape_markup(printable_text(page.title))},
                      {"note", escape_markup(printable_text(page.note))},
                      {"graph", page.graph},
                      {"data", embedded_json({{"grids", std::move(grids)}})}});
}

}  // namespace headlight
