#include "show/report/token_circuit_plot.h"

#include <utility>

namespace headlight {

MatrixPlot token_circuit_plot(TokenCircuit circuit, const HeadId& head, const Tensor& values,
                              CircuitLabels labels) {
  const bool is_ov = circuit == TokenCircuit::ov;
  return {.title = (is_ov ? "OV of head " : "QK of head ") + head_name(head),
          .row_title = is_ov ? "attended token" : "query",
          .column_title = is_ov ? "raised token" : "key",
          .rows = std::move(labels.rows),
          .columns = std::move(labels.columns),
          .values = values.to_vector()};
}

}  // namespace headlight
