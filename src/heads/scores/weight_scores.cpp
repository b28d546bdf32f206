#include "headlight/heads/scores/weight_scores.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "kernels/eigenvalues.h"

namespace headlight {
namespace {

// Matrices of one head in double precision, in the layout of the model.
struct HeadMatrices {
  Tensor query;   // W_Q^T [D, C]
  Tensor key;     // W_K^T [D, C]
  Tensor value;   // W_V^T [D, C]
  Tensor output;  // W_O^T [C, D]
  // For composition scores, see add_grams().
  Tensor query_gram = {};   // [D, D]
  Tensor value_gram = {};   // [D, D]
  double key_query = 0;     // |KQ|
  double output_value = 0;  // |OV|
};

std::vector<HeadMatrices> matrices_of(const Gpt& model) {
  std::vector<HeadMatrices> all;
  for (Index layer = 0; layer < model.config().n_layer; ++layer) {
    const AttentionPlan plan = block_plan(model.config(), layer).attention;
    const Index width = plan.head_width;
    const auto in_double = [&](Part part) {
      return convert(model.weight(part, layer), DType::float64);
    };
    const Tensor qkv = in_double(Part::query_key_value);      // [(H + 2 G) D, C]
    const Tensor output = in_double(Part::attention_output);  // [C, H D]
    for (Index head = 0; head < plan.heads; ++head) {
      const auto rows = [&](Index part) {
        const Index place = part == 0 ? head : plan.key_head(head);
        const Index begin = plan.part_begin(part) + place * width;
        return slice(qkv, 0, begin, begin + width);
      };
      all.push_back(
          {rows(0), rows(1), rows(2), slice(output, 1, head * width, (head + 1) * width)});
    }
  }
  return all;
}

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

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// W_E W_V W_O W_U [V, V] has the nonzero eigenvalues of W_O W_U W_E W_V [D, D].
double copying_score(const HeadMatrices& head, const Tensor& embedding_to_logits) {
  const Tensor circuit =
      matmul(matmul(head.value, embedding_to_logits), head.output);  // transposed, [D, D]
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
  constexpr Index kTokens = 16'384;                              // at once
  const Tensor embedding = model.weight(Part::token_embedding);  // [V, C]
  const Tensor head = model.head_weight().detach();              // [V, C]
  Tensor sum;
  for (Index begin = 0; begin < embedding.size(0); begin += kTokens) {
    const Index end = std::min(begin + kTokens, embedding.size(0));
    const Tensor part =
        convert(matmul(transpose(slice(embedding, 0, begin, end)), slice(head, 0, begin, end)),
                DType::float64);
    sum = begin == 0 ? part : sum + part;
    pause();
  }
  return sum;
}

Tensor gram(const Tensor& x) { return matmul(x, transpose(x)); }

void add_grams(HeadMatrices& head) {
  head.query_gram = gram(head.query);
  head.value_gram = gram(head.value);
  Tensor identity = Tensor::zeros(head.query_gram.shape(), head.query_gram.dtype());
  identity.strided_view({identity.size(0)}, {identity.size(0) + 1}).fill(1);
  head.key_query = product_norm(head.query_gram, identity, gram(head.key));
  head.output_value = product_norm(gram(transpose(head.output)), identity, head.value_gram);
}

// KQ^T OV^T = query^T (key output) value.
double composition(const HeadMatrices& earlier, const HeadMatrices& later) {
  const double product =
      product_norm(later.query_gram, matmul(later.key, earlier.output), earlier.value_gram);
  return ratio(product, later.key_query * earlier.output_value);
}

}  // namespace

WeightScores weight_scores(const Gpt& model, const std::function<void()>& pause) {
  const NoGrad no_grad;
  WeightScores scores;
  scores.heads = HeadSet::all(model.heads());
  std::vector<HeadMatrices> heads = matrices_of(model);
  const Tensor to_logits = embedding_to_logits(model, pause);
  for (HeadMatrices& head : heads) {
    scores.copying.push_back(copying_score(head, to_logits));
    add_grams(head);
    pause();
  }
  scores.k_composition.assign(heads.size() * heads.size(), 0);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    for (std::size_t j = i + 1; j < heads.size(); ++j) {
      if (scores.heads[i].layer < scores.heads[j].layer) {
        scores.k_composition[i * heads.size() + j] = composition(heads[i], heads[j]);
      }
    }
    pause();
  }
  return scores;
}

}  // namespace headlight
