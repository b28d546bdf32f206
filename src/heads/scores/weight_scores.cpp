#include "headlight/heads/scores/weight_scores.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "heads/scores/head_matrices.h"
#include "kernels/eigenvalues.h"

namespace headlight {
namespace {

// Matrices of a head, with their products in double precision for composition scores. Matrices are
// float32 and without queries unless they are read: many heads at once would take much memory.
struct HeadProducts {
  HeadMatrices matrices;
  Tensor query_gram;  // [D, D], like the others
  Tensor key_gram;
  Tensor value_gram;
  Tensor output_gram;
  double key_query = 0;     // |KQ|
  double output_value = 0;  // |OV|
};

// |left^T middle right| for left, right [D, C], from their Gram matrices [D, D]. Avoids a [C, C]
// matrix: the square is the trace of middle^T (left left^T) middle (right right^T).
double product_norm(const Tensor& left_gram, const Tensor& middle, const Tensor& right_gram) {
  const std::vector<double> a = matmul(matmul(left_gram, middle), right_gram).to_vector();
  const std::vector<double> b = middle.to_vector();
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return std::sqrt(std::max(sum, 0.0));
}

Tensor precise(const Tensor& x) { return convert(x, DType::float64); }

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// W_E W_V W_O W_U [V, V] has the nonzero eigenvalues of W_O W_U W_E W_V [D, D].
double copying_score(const HeadMatrices& head, const Tensor& embedding_to_logits) {
  const Tensor circuit = matmul(matmul(precise(head.value), embedding_to_logits),
                                precise(head.output));  // transposed, [D, D]
  std::complex<double> sum = 0;
  double sizes = 0;
  for (const std::complex<double>& value :
       kernels::eigenvalues(circuit.to_vector(), circuit.size(0))) {
    sum += value;
    sizes += std::abs(value);
  }
  return ratio(sum.real(), sizes);
}

// W_U W_E [C, C], summed over blocks of tokens. Products use the model's own precision, because a
// large vocabulary in double would double its memory.
Tensor embedding_to_logits(const Gpt& model, const std::function<void()>& pause) {
  constexpr Index kTokens = 16'384;  // at once
  const Tensor all = Tensor::arange(model.vocab_size());
  Tensor sum;
  for (Index begin = 0; begin < model.vocab_size(); begin += kTokens) {
    const Tensor ids = slice(all, 0, begin, std::min(begin + kTokens, model.vocab_size()));
    const Tensor part =
        convert(matmul(transpose(model.embedding_rows(ids)), model.head_rows(ids)), DType::float64);
    sum = begin == 0 ? part : sum + part;
    pause();
  }
  return sum;
}

Tensor gram(const Tensor& x) { return matmul(x, transpose(x)); }

HeadProducts products_of(const HeadMatrices& head) {
  const HeadMatrices exact{precise(head.query), precise(head.key), precise(head.value),
                           precise(head.output)};
  HeadProducts products{.matrices = head,
                        .query_gram = gram(exact.query),
                        .key_gram = gram(exact.key),
                        .value_gram = gram(exact.value),
                        .output_gram = gram(transpose(exact.output))};
  const Tensor identity = Tensor::eye(head.query.size(0), DType::float64);
  products.key_query = product_norm(products.query_gram, identity, products.key_gram);
  products.output_value = product_norm(products.output_gram, identity, products.value_gram);
  return products;
}

// Returns the products of all heads. Heads that share keys and values share their memory.
std::vector<HeadProducts> products_of(const Gpt& model, Composition kind,
                                      const std::function<void()>& pause) {
  std::vector<HeadProducts> products;
  for (Index layer = 0; layer < model.config().n_layer; ++layer) {
    const Tensor output = model.weight(Part::attention_output, layer);
    const AttentionPlan plan = block_plan(model.config(), layer).attention;
    for (Index place = 0; place < model.config().heads(layer); ++place) {
      HeadMatrices head = head_matrices(model, layer, place, model.dtype(), output);
      if (place > 0 && plan.key_head(place) == plan.key_head(place - 1)) {
        head.key = products.back().matrices.key;
        head.value = products.back().matrices.value;
      }
      products.push_back(products_of(head));
      if (kind != Composition::q) {
        products.back().matrices.query = {};
      }
      pause();
    }
  }
  return products;
}

// The product of the earlier head's OV and the later one's matrix, transposed: KQ^T OV^T = query^T
// (key output) value for keys, and so on.
double composition_score(const HeadProducts& earlier, const HeadProducts& later, Composition kind) {
  const bool is_value = kind == Composition::v;
  const Tensor& reads = is_value                 ? later.matrices.value
                        : kind == Composition::k ? later.matrices.key
                                                 : later.matrices.query;
  const Tensor& left_gram = is_value                 ? later.output_gram
                            : kind == Composition::k ? later.query_gram
                                                     : later.key_gram;
  const double product = product_norm(
      left_gram, matmul(precise(reads), precise(earlier.matrices.output)), earlier.value_gram);
  return ratio(product, (is_value ? later.output_value : later.key_query) * earlier.output_value);
}

std::vector<double> compositions_of(const HeadSet& heads, const std::vector<HeadProducts>& products,
                                    Composition kind, const std::function<void()>& pause) {
  std::vector<double> scores(products.size() * products.size(), 0.0);
  for (std::size_t i = 0; i < products.size(); ++i) {
    for (std::size_t j = i + 1; j < products.size(); ++j) {
      if (heads[i].layer < heads[j].layer) {
        scores[i * products.size() + j] = composition_score(products[i], products[j], kind);
      }
    }
    pause();
  }
  return scores;
}

}  // namespace

HeadMatrices head_matrices(const Gpt& model, Index layer, Index place, DType dtype,
                           const Tensor& output) {
  const AttentionPlan plan = block_plan(model.config(), layer).attention;
  const Index width = plan.head_width;
  const auto rows = [&](Index part) {
    const Index begin = plan.part_begin(part) + (part == 0 ? place : plan.key_head(place)) * width;
    return convert(model.weight_rows(Part::query_key_value, layer, begin, begin + width), dtype);
  };
  return {rows(0), rows(1), rows(2),
          convert(slice(output, 1, place * width, (place + 1) * width), dtype)};
}

HeadMatrices head_matrices(const Gpt& model, Index layer, Index place, DType dtype) {
  return head_matrices(model, layer, place, dtype, model.weight(Part::attention_output, layer));
}

std::vector<double> composition_scores(const Gpt& model, Composition kind,
                                       const std::function<void()>& pause) {
  const NoGrad no_grad;
  return compositions_of(HeadSet::all(model.heads()), products_of(model, kind, pause), kind, pause);
}

WeightScores weight_scores(const Gpt& model, const std::function<void()>& pause) {
  const NoGrad no_grad;
  WeightScores scores;
  scores.heads = HeadSet::all(model.heads());
  const std::vector<HeadProducts> heads = products_of(model, Composition::k, pause);
  const Tensor to_logits = embedding_to_logits(model, pause);
  for (const HeadProducts& head : heads) {
    scores.copying.push_back(copying_score(head.matrices, to_logits));
    pause();
  }
  scores.k_composition = compositions_of(scores.heads, heads, Composition::k, pause);
  return scores;
}

}  // namespace headlight
