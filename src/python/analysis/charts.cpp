#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "headlight/show/plot/matrix_plot.h"
#include "headlight/show/plot/scatter_plot.h"
#include "headlight/show/text/coloured_text.h"
#include "python/analysis/figure.h"
#include "python/autograd/operand.h"
#include "python/model/cell_tuples.h"
#include "python/model/inputs.h"
#include "show/report/score_scatter.h"
#include "show/report/token_circuit_plot.h"
#include "show/result/result.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

using Labels = std::vector<std::string>;

Labels labels_or_numbers(const std::optional<Labels>& labels, Index count, const char* about) {
  require_value(!labels || std::ssize(*labels) == count, about, "expected ", count, " labels, got ",
                labels ? labels->size() : 0);
  return labels ? *labels : numbers_to(count);
}

Figure matrix_figure(const Operand& values, const MatrixPlot& names,
                     const std::optional<Labels>& rows, const std::optional<Labels>& columns) {
  const Tensor matrix = values.tensor();
  require_value(matrix.rank() == 2, "values", "expected two axes, got shape ", matrix.shape());
  MatrixPlot plot = names;
  plot.rows = labels_or_numbers(rows, matrix.size(0), "rows");
  plot.columns = labels_or_numbers(columns, matrix.size(1), "columns");
  plot.values = matrix.to_vector();
  return {matrix_plot_svg(plot)};
}

Figure scatter_figure(const Operand& x, const Operand& y, const std::optional<Labels>& names,
                      ScatterPlot plot) {
  const std::vector<double> across = x.tensor().to_vector();
  const std::vector<double> up = y.tensor().to_vector();
  require_value(across.size() == up.size(), "y", "expected ", across.size(), " numbers, got ",
                up.size());
  const Labels labels = labels_or_numbers(names, std::ssize(across), "names");
  for (std::size_t i = 0; i < across.size(); ++i) {
    plot.points.push_back({labels[i], across[i], up[i]});
  }
  return {scatter_plot_svg(plot)};
}

// Returns the height in pixels at which a notebook shows texts without scrolling, 640 at most.
int height_of(const ColouredTextPage& page) {
  constexpr std::size_t kLine = 90;  // characters
  std::size_t lines = 4;
  for (const ColouredText& text : page.texts) {
    std::size_t characters = 0;
    for (const std::string& token : text.tokens) {
      characters += token.size();
      lines += static_cast<std::size_t>(std::ranges::count(token, '\n'));
    }
    lines += characters / kLine + (text.label.empty() ? 1 : 2);
  }
  return static_cast<int>(std::min<std::size_t>(640, 27 * lines));
}

// Parts of coloured texts that may be missing; one of each text.
struct TextParts {
  std::optional<Labels> labels;
  std::optional<std::vector<Index>> marked;
  std::optional<std::vector<std::vector<CellTuple>>> cells;
};

Figure text_figure(const std::vector<Labels>& tokens, const std::vector<Operand>& values,
                   const TextParts& parts, ColouredTextPage page) {
  const std::size_t count = tokens.size();
  require_value(values.size() == count, "values", "expected an array for each of ", count,
                " texts, got ", values.size());
  require_value(!parts.marked || parts.marked->size() == count, "marked", "expected ", count,
                " positions");
  require_value(!parts.cells || parts.cells->size() == count, "cells", "expected ", count,
                " lists");
  for (std::size_t i = 0; i < count; ++i) {
    ColouredText text{.label = "", .tokens = tokens[i], .values = values[i].tensor().to_vector()};
    if (parts.labels) {
      text.label = labels_or_numbers(parts.labels, std::ssize(tokens), "labels")[i];
    }
    if (parts.marked) {
      text.marked = (*parts.marked)[i];
    }
    page.texts.push_back(
        parts.cells ? merged_text(text, cells_of_tuples((*parts.cells)[i], std::ssize(text.tokens)))
                    : text);
  }
  return {coloured_text_html(page), true, height_of(page)};
}

void add_matrices(nb::module_& plot) {
  plot.def(
      "heads",
      [](const Operand& values, const std::string& title, const std::string& rows,
         const std::string& columns) {
        return matrix_figure(values, {.title = title, .row_title = rows, .column_title = columns},
                             {}, {});
      },
      "values"_a, "title"_a = "", nb::kw_only(), "rows"_a = "layer", "columns"_a = "head",
      "Draws one value of each head, [L, H]: blue above 0, orange below.");
  plot.def(
      "matrix",
      [](const Operand& values, const std::optional<Labels>& rows,
         const std::optional<Labels>& columns, const std::string& title,
         const std::string& row_title, const std::string& column_title, double limit) {
        return matrix_figure(
            values,
            {.title = title, .row_title = row_title, .column_title = column_title, .limit = limit},
            rows, columns);
      },
      "values"_a, "rows"_a = nb::none(), "columns"_a = nb::none(), "title"_a = "", nb::kw_only(),
      "row_title"_a = "", "column_title"_a = "", "limit"_a = 0.0,
      "Draws a matrix: blue above 0, orange below.\n\n"
      "Parameters\n----------\n"
      "rows, columns : labels; None: numbers.\n"
      "limit : value of the strongest colour; 0: the largest absolute value.");
  plot.def(
      "token_circuit",
      [](const Operand& values, const Labels& rows, const Labels& columns,
         const std::string& circuit, Index layer, Index head) -> Figure {
        return {
            matrix_plot_svg(token_circuit_plot(parse_name<TokenCircuit>("circuit", circuit),
                                               {layer, head}, values.tensor(), {rows, columns}))};
      },
      "values"_a, "rows"_a, "columns"_a, "circuit"_a, "layer"_a, "head"_a,
      "Draws values of Model.ov_circuit() (circuit \"ov\") or qk_circuit() (\"qk\").");
}

}  // namespace

void add_charts(nb::module_& plot) {
  add_matrices(plot);
  plot.def(
      "scatter",
      [](const Operand& x, const Operand& y, const std::optional<Labels>& names,
         const std::string& title, const std::string& x_label, const std::string& y_label,
         bool diagonal) {
        return scatter_figure(x, y, names,
                              {.title = title,
                               .x_label = x_label,
                               .y_label = y_label,
                               .points = {},
                               .has_diagonal = diagonal});
      },
      "x"_a, "y"_a, "names"_a = nb::none(), nb::kw_only(), "title"_a = "", "x_label"_a = "",
      "y_label"_a = "", "diagonal"_a = false,
      "Draws points, with Pearson's r; arrays of any one shape. `names`: labels of the points in "
      "order; those farthest from the middle are shown. `diagonal`: draw the line y = x.");
  plot.def(
      "score_scatter",
      [](const Operand& scores, const Operand& rises, const Labels& heads, const std::string& score,
         const std::string& metric) {
        return scatter_figure(scores, rises, heads,
                              score_scatter(score, parse_name<MetricKind>("metric", metric)));
      },
      "scores"_a, "rises"_a, "heads"_a, "score"_a, "metric"_a,
      "Draws a score of heads against the rise of a metric without them.");
  plot.def(
      "texts",
      [](const std::vector<Labels>& tokens, const std::vector<Operand>& values,
         const std::optional<Labels>& labels, const std::optional<std::vector<Index>>& marked,
         const std::string& title, const std::string& note, double limit,
         const std::optional<std::vector<std::vector<CellTuple>>>& cells) {
        return text_figure(tokens, values, {labels, marked, cells},
                           {.title = title, .note = note, .texts = {}, .limit = limit});
      },
      "tokens"_a, "values"_a, "labels"_a = nb::none(), nb::kw_only(), "marked"_a = nb::none(),
      "title"_a = "", "note"_a = "", "limit"_a = 0.0, "cells"_a = nb::none(),
      "Colours the tokens of texts by their values: blue above 0, orange below.\n\n"
      "Parameters\n----------\n"
      "tokens, values : labels of the tokens and numbers [T] of each text.\n"
      "labels : headings of the texts.\n"
      "marked : positions of one framed token in each text.\n"
      "limit : value of the strongest colour; 0: the largest absolute value.\n"
      "cells : characters to draw as one, of each text: (first token, one past the last, label) of "
      "all tokens. A character has the colour of its value furthest from 0.");
}

}  // namespace headlight::python
