#include "headlight/interpret/scores/token_circuits.h"

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/interpret/head_set.h"
#include "headlight/kernels/machine/memory.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "interpret/scores/head_matrices.h"

namespace headlight {
namespace {

// Returns the ids of the tokens; without tokens all ids of the model.
Tensor ids_of(const Gpt& model, const CircuitTokens& tokens, const char* about) {
  for (const std::int32_t id : tokens) {
    require_value(id >= 0 && id < model.vocab_size(), about, "expected tokens from 0 to ",
                  model.vocab_size() - 1, ", got ", id);
  }
  return tokens.empty() ? Tensor::arange(model.vocab_size())
                        : Tensor::from(tokens, {std::ssize(tokens)});
}

Tensor scaled(const Tensor& x, double factor) { return factor > 0 ? x * factor : x; }

Tensor embedded(const Gpt& model, const CircuitTokens& tokens, const char* about) {
  return model.scaled_embedding(ids_of(model, tokens, about));
}

HeadMatrices matrices_of_head(const Gpt& model, const HeadId& head) {
  return head_matrices(model, head.layer, head_index(head, model.heads()), model.dtype());
}

// left right^T for left [n, D], right [m, D].
Tensor product_of(const Tensor& left, const Tensor& right) {
  const double bytes = static_cast<double>(left.size(0)) * static_cast<double>(right.size(0)) *
                       static_cast<double>(element_size(left.dtype()));
  const std::string missing = missing_memory(bytes);
  require(missing.empty(), "a circuit of ", left.size(0), " by ", right.size(0), " tokens needs ",
          missing, ": choose fewer tokens");
  return matmul(left, transpose(right));
}

}  // namespace

Tensor ov_circuit(const Gpt& model, const HeadId& head, const CircuitTokens& sources,
                  const CircuitTokens& targets) {
  const NoGrad no_grad;
  const HeadMatrices matrices = matrices_of_head(model, head);
  const Tensor read = matmul(embedded(model, sources, "tokens_in"), transpose(matrices.value));
  const Tensor head_rows = model.head_rows(ids_of(model, targets, "tokens_out"));
  return product_of(read, scaled(matmul(head_rows, matrices.output), model.config().logit_scale));
}

Tensor qk_circuit(const Gpt& model, const HeadId& head, const CircuitTokens& queries,
                  const CircuitTokens& keys) {
  const NoGrad no_grad;
  const HeadMatrices matrices = matrices_of_head(model, head);
  return product_of(matmul(embedded(model, queries, "tokens_in"), transpose(matrices.query)),
                    matmul(embedded(model, keys, "tokens_out"), transpose(matrices.key)));
}

}  // namespace headlight
