#include "show/report/circuit_report.h"

#include <limits>
#include <map>

#include "base/transformed.h"
#include "show/report/parts/numbers.h"

namespace headlight {
namespace {

// Grid of the kept edges, [readers, writers], the strongest first.
ResultGrid edge_grid(const CircuitResult& result) {
  MatrixPlot plot{.title = "Share of each edge", .row_title = "reader", .column_title = "writer"};
  std::map<std::pair<std::size_t, std::size_t>, double> shares;
  for (const CircuitEdge& edge : result.edges) {
    if (edge.is_kept) {
      const std::string port = edge.into ? "." + std::string(name_of(*edge.into)) : "";
      const std::size_t row = index_in_axis(node_name(edge.to) + port, plot.rows);
      shares[{row, index_in_axis(node_name(edge.from), plot.columns)}] = edge.score;
    }
  }
  plot.values.assign(plot.rows.size() * plot.columns.size(),
                     std::numeric_limits<double>::quiet_NaN());
  for (const auto& [cell, share] : shares) {
    plot.values[cell.first * plot.columns.size() + cell.second] = share;
  }
  return {"share", std::move(plot)};
}

ResultGrid curve_grid(const CircuitResult& result) {
  const auto edges = [](const CircuitFit& fit) { return std::to_string(fit.edges); };
  return {"faithfulness",
          {.title = "Faithfulness of the strongest edges",
           .row_title = "edges",
           .rows = transformed(result.curve, edges),
           .columns = {""},
           .values = transformed(result.curve, &CircuitFit::faithfulness),
           .limit = 1}};
}

}  // namespace

std::string circuit_summary(const CircuitResult& result) {
  return concat_text(result.kept, " of ", result.edges.size(), " edges, faithfulness ",
                     fixed_number(result.faithfulness, 2));
}

ResultArrays circuit_arrays(const CircuitResult& result) {
  const Shape all{std::ssize(result.edges)};
  const Shape points{std::ssize(result.curve)};
  const auto of_edges = [&](const auto& value) { return transformed(result.edges, value); };
  const auto is_kept = [](const CircuitEdge& edge) { return edge.is_kept ? 1 : 0; };
  const auto into = [](const CircuitEdge& edge) {
    return std::string(edge.into ? name_of(*edge.into) : "");
  };
  const auto edge_count = [](const CircuitFit& fit) {
    return static_cast<std::int32_t>(fit.edges);
  };
  return {
      .tensors = {{"score", Tensor::from(of_edges(&CircuitEdge::score), all)},
                  {"kept", Tensor::from(of_edges(is_kept), all)},
                  {"curve_edges", Tensor::from(transformed(result.curve, edge_count), points)},
                  {"curve_faithfulness",
                   Tensor::from(transformed(result.curve, &CircuitFit::faithfulness), points)}},
      .texts = {{"from", of_edges([](const CircuitEdge& edge) { return node_name(edge.from); })},
                {"to", of_edges([](const CircuitEdge& edge) { return node_name(edge.to); })},
                {"into", of_edges(into)}}};
}

std::vector<ResultGrid> circuit_grids(const CircuitResult& result) {
  if (result.kept == 0) {
    return {};
  }
  return {edge_grid(result), curve_grid(result)};
}

}  // namespace headlight
