#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>

#include "headlight/interpret/fold.h"
#include "headlight/interpret/scores/token_circuits.h"
#include "headlight/interpret/scores/weight_scores.h"
#include "python/autograd/arrays.h"
#include "python/bindings.h"
#include "python/model/inputs.h"
#include "python/model/model.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

// Returns scores [heads, heads] as [L, H, L, H]; NaN for heads that a pruned model lacks.
Tensor by_layer_and_head(const HeadSet& heads, Index layers, const std::vector<double>& scores) {
  Index width = 0;
  for (const HeadId& head : heads) {
    width = std::max(width, head.head + 1);
  }
  const auto index_of = [&](std::size_t i) { return heads[i].layer * width + heads[i].head; };
  Tensor result = Tensor::full({layers, width, layers, width},
                               std::numeric_limits<double>::quiet_NaN(), DType::float64);
  auto* values = result.data<double>();
  for (std::size_t i = 0; i < heads.size(); ++i) {
    for (std::size_t j = 0; j < heads.size(); ++j) {
      values[index_of(i) * layers * width + index_of(j)] = scores[i * heads.size() + j];
    }
  }
  return result;
}

Array composition(Model& model, const std::string& kind) {
  const auto chosen = parse_name<Composition>("kind", kind);
  const std::vector<double> scores = [&] {
    const Model::Use use(model);
    return composition_scores(model.gpt(), chosen);
  }();
  return array_of(
      by_layer_and_head(HeadSet::all(model.gpt().heads()), model.gpt().config().n_layer, scores),
      Access::writable);
}

// Returns the ids of an axis: of a text without prompt tokens, or ids [n]; none: all tokens.
CircuitTokens circuit_tokens(const Model& model, const std::optional<Inputs>& tokens,
                             const char* about) {
  if (!tokens) {
    return {};
  }
  CircuitTokens ids = nb::isinstance<nb::str>(tokens->value)
                          ? model.tokenizer()->encode(read_texts(tokens->value, about).front())
                          : std::move(read_inputs(*tokens, *model.tokenizer(), about).ids.front());
  require_value(!ids.empty(), about, "expected at least one token; None: all tokens");
  return ids;
}

using TokenCircuit = Tensor (*)(const Gpt&, const HeadId&, const CircuitTokens&,
                                const CircuitTokens&);

template <TokenCircuit kCircuit>
Array token_circuit(Model& model, Index layer, Index head, const std::optional<Inputs>& tokens_in,
                    const std::optional<Inputs>& tokens_out) {
  const CircuitTokens rows = circuit_tokens(model, tokens_in, "tokens_in");
  const CircuitTokens columns = circuit_tokens(model, tokens_out, "tokens_out");
  const Tensor circuit = [&] {
    const Model::Use use(model);
    return kCircuit(model.gpt(), {layer, head}, rows, columns);
  }();
  return array_of(circuit, Access::writable);
}

std::unique_ptr<Model> fold(Model& model, bool center_writing_weights, bool center_unembed) {
  const Model::Use use(model);
  return std::make_unique<Model>(folded(model.gpt(), {.center_writing = center_writing_weights,
                                                      .center_unembed = center_unembed}),
                                 model.tokenizer(), model.path());
}

}  // namespace

void add_weight_analysis(nb::class_<Model>& model) {
  model
      .def("composition", &composition, "kind"_a = "K",
           "Measures how much each head reads of the output of each earlier head, from the weights "
           "alone (Elhage et al., 2021).\n\n"
           "Parameters\n----------\n"
           "kind : \"Q\", \"K\" or \"V\", the input of the later head.\n\n"
           "Returns\n-------\n"
           "[L, H, L, H], earlier by later head: the Frobenius norm of the product of W_OV and the "
           "later head's matrix (W_QK, its transpose for K, or W_OV) over the product of their "
           "norms, 0 to 1; 0 unless the first layer is below the second. Norms, biases and rotary "
           "positions are left out; folded() includes the gains of norms.")
      .def("ov_circuit", &token_circuit<ov_circuit>, "layer"_a, "head"_a, "tokens_in"_a.none(),
           "tokens_out"_a = nb::none(),
           "Computes W_E W_OV W_U: how much attending to a token raises the logits of tokens.\n\n"
           "Parameters\n----------\n"
           "tokens_in, tokens_out : ids [n], or a text; None: all tokens, which needs V numbers a "
           "token of the other axis.\n\n"
           "Returns\n-------\n"
           "[n_in, n_out], in units of logits, without norms, biases and positions. folded() "
           "includes the gains of norms.")
      .def("qk_circuit", &token_circuit<qk_circuit>, "layer"_a, "head"_a, "tokens_in"_a.none(),
           "tokens_out"_a = nb::none(),
           "Computes W_E W_Q W_K^T W_E^T: attention scores of query tokens for key tokens.\n\n"
           "Parameters\n----------\n"
           "tokens_in, tokens_out : tokens of the queries and of the keys, as in ov_circuit().\n\n"
           "Returns\n-------\n"
           "[n_in, n_out], before division by sqrt(D), without norms, biases and positions. Heads "
           "that share keys use those of their group. Models with rotary positions: the scores at "
           "relative distance 0.")
      .def(
          "folded", &fold, nb::kw_only(), "center_writing_weights"_a = true,
          "center_unembed"_a = false,
          "Returns an equivalent model with the gains and shifts of norms folded into the next "
          "matrices, as TransformerLens's fold_ln: columns that read a LayerNorm also get mean "
          "0.\n\n"
          "Parameters\n----------\n"
          "center_writing_weights : vectors that are written to the residual stream get mean 0, in "
          "models with LayerNorm.\n"
          "center_unembed : the logits of each token get mean 0; probabilities stay the same.\n\n"
          "Returns\n-------\n"
          "A Model with the same logits but for rounding, unless center_unembed. Norms of queries, "
          "keys, embeddings and outputs keep their weights. Interventions are not copied.\n\n"
          "Raises\n------\n"
          "ValueError : for models with norms behind the layers and bidirectional models.");
}

}  // namespace headlight::python
