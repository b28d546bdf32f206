#pragma once

#include <string>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/interpret/head_id.h"
#include "headlight/show/plot/matrix_plot.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

enum class TokenCircuit {
  ov,  // of attended tokens on the logits of tokens
  qk,  // of query tokens with key tokens
};

template <>
inline constexpr auto kChoices<TokenCircuit> =
    std::to_array<Choice<TokenCircuit>>({{"ov", TokenCircuit::ov}, {"qk", TokenCircuit::qk}});

// Labels of the tokens of both axes.
struct CircuitLabels {
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
};

// Returns the figure of a circuit [rows, columns] of ov_circuit() or qk_circuit().
MatrixPlot token_circuit_plot(TokenCircuit circuit, const HeadId& head, const Tensor& values,
                              CircuitLabels labels);

}  // namespace headlight
