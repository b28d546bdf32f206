#include "headlight/interpret/scores/weight_scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numeric>
#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "interpret/scores/head_matrices.h"
#include "kernels/eigenvalues.h"

namespace headlight {
namespace {

Tensor in_float64(const Tensor& x) { return convert(x, DType::float64); }

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// The matrices of queries (part 0), keys (1) or values (2) of a layer's R = H or G heads [R D, C].
Tensor part_rows(const Gpt& model, Index layer, Index part) {
  const AttentionPlan plan = block_plan(model.config(), layer).attention;
  const Index begin = plan.part_begin(part);
  return model.weight_rows(Part::query_key_value, layer, begin,
                           begin + plan.part_heads(part) * plan.head_width);
}

// A matrix for each head: [R D, X] as [R, D, X].
Tensor by_head(const Tensor& rows, Index width) {
  return reshape(rows, {rows.size(0) / width, width, rows.size(1)});
}

// W_U W_E [C, C], summed over blocks of tokens. Products use the model's own precision, because a
// large vocabulary in double would double its memory.
Tensor embedding_to_logits(const Gpt& model, const std::function<void()>& pause) {
  constexpr Index kTokens = 4'096;  // at once
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

// W_E W_V W_O W_U [V, V] has the nonzero eigenvalues of W_O W_U W_E W_V [D, D]; `circuit` is its
// transposed.
double copying_score(const Tensor& circuit) {
  std::complex<double> sum = 0;
  double sizes = 0;
  for (const std::complex<double>& value :
       kernels::eigenvalues(circuit.to_vector(), circuit.size(0))) {
    sum += value;
    sizes += std::abs(value);
  }
  return ratio(sum.real(), sizes);
}

std::vector<double> copying_scores(const Gpt& model, const std::function<void()>& pause) {
  const Tensor to_logits = embedding_to_logits(model, pause);
  std::vector<double> scores;
  for (Index layer = 0; layer < model.config().n_layer; ++layer) {
    const AttentionPlan plan = block_plan(model.config(), layer).attention;
    const Tensor values = by_head(matmul(in_float64(part_rows(model, layer, 2)), to_logits),
                                  plan.head_width);                     // [G, D, C]
    const Tensor output = model.weight(Part::attention_output, layer);  // [C, H D]
    for (Index index = 0; index < plan.heads; ++index) {
      const Index begin = index * plan.head_width;
      scores.push_back(
          copying_score(matmul(select(values, 0, plan.key_head(index)),
                               in_float64(slice(output, 1, begin, begin + plan.head_width)))));
      pause();
    }
  }
  return scores;
}

using Gram = std::vector<double>;  // [D, D], a matrix times its transposed

double dot(const double* a, const Gram& b) {
  return std::inner_product(b.begin(), b.end(), a, 0.0);
}

// Norm of the product of two matrices, from their Gram matrices of the inner axis.
double product_norm(const Gram& a, const Gram& b) {
  return std::sqrt(std::max(dot(a.data(), b), 0.0));
}

// A layer's values for compositions, except its matrices.
struct LayerGrams {
  Index first = 0;              // number of the layer's first head in the model
  AttentionPlan plan = {};      // H heads
  std::vector<Tensor> value;    // [H], each [D, D] in double: W_V^T W_V
  std::vector<Gram> left;       // [H]: of the matrix that a product of the head begins with
  std::vector<double> whole;    // [H]: norm of what the head reads with, such as |W_K W_Q^T|
  std::vector<double> written;  // [H]: |W_V W_O|
};

// The matrix, a part of the weights, that reads an earlier head's output.
Index reading_part(Composition kind) {
  return kind == Composition::q ? 0 : kind == Composition::k ? 1 : 2;
}

LayerGrams layer_grams(const Gpt& model, Index layer, Composition kind) {
  LayerGrams grams;
  grams.plan = block_plan(model.config(), layer).attention;
  const auto grams_of = [](const Tensor& x) { return matmul(x, transpose(x)); };  // [.., D, D]
  std::array<Tensor, 3> parts;
  for (Index part = 0; part < 3; ++part) {
    parts[static_cast<std::size_t>(part)] =
        grams_of(by_head(in_float64(part_rows(model, layer, part)), grams.plan.head_width));
  }
  const Tensor output = model.weight(Part::attention_output, layer);  // [C, H D]
  for (Index index = 0; index < grams.plan.heads; ++index) {
    const Index shared = grams.plan.key_head(index);
    const Index begin = index * grams.plan.head_width;
    const Gram query = select(parts[0], 0, index).to_vector();
    const Gram key = select(parts[1], 0, shared).to_vector();
    const Gram written =
        grams_of(in_float64(transpose(slice(output, 1, begin, begin + grams.plan.head_width))))
            .to_vector();
    grams.value.push_back(select(parts[2], 0, shared));
    grams.written.push_back(product_norm(written, grams.value.back().to_vector()));
    grams.whole.push_back(kind == Composition::v ? grams.written.back() : product_norm(query, key));
    grams.left.push_back(kind == Composition::v ? written : kind == Composition::k ? query : key);
  }
  return grams;
}

// Scores of all heads of a later layer with the head `index` of an earlier one. `written`
// [R D', D]: products of the later layer's R matrices with the head's output matrix. With W_V of
// the head and the left matrix L of the later one, |L^T written W_V^T|^2 is the trace of
// L L^T (written W_V^T W_V written^T), whose second factor later heads with the same matrix share.
void compose(const LayerGrams& earlier, Index index, const LayerGrams& later, Composition kind,
             const Tensor& written, double* scores) {
  const auto head = static_cast<std::size_t>(index);
  const Index width = later.plan.head_width;
  const Tensor weighted = matmul(written, earlier.value[head]);
  const Tensor shared = matmul(by_head(weighted, width), transpose(by_head(written, width)));
  const std::vector<double> traces = shared.to_vector();  // [R, D', D']
  const Index size = width * width;
  for (Index reader = 0; reader < later.plan.heads; ++reader) {
    const Index matrix = kind == Composition::q ? reader : later.plan.key_head(reader);
    const auto number = static_cast<std::size_t>(reader);
    const double product = dot(traces.data() + matrix * size, later.left[number]);
    scores[later.first + reader] =
        ratio(std::sqrt(std::max(product, 0.0)), later.whole[number] * earlier.written[head]);
  }
}

std::vector<double> compositions_of(const Gpt& model, Composition kind,
                                    const std::function<void()>& pause) {
  std::vector<LayerGrams> layers;
  Index heads = 0;
  for (Index layer = 0; layer < model.config().n_layer; ++layer) {
    layers.push_back(layer_grams(model, layer, kind));
    layers.back().first = std::exchange(heads, heads + layers.back().plan.heads);
    pause();
  }
  std::vector<double> scores(static_cast<std::size_t>(heads * heads), 0.0);
  for (Index layer = 0; layer < model.config().n_layer; ++layer) {
    const LayerGrams& earlier = layers[static_cast<std::size_t>(layer)];
    const Tensor output = model.weight(Part::attention_output, layer);  // [C, H D]
    for (Index next = layer + 1; next < model.config().n_layer; ++next) {
      const Tensor written =
          matmul(part_rows(model, next, reading_part(kind)), output);  // [R D', H D]
      for (Index index = 0; index < earlier.plan.heads; ++index) {
        const Index begin = index * earlier.plan.head_width;
        compose(earlier, index, layers[static_cast<std::size_t>(next)], kind,
                in_float64(slice(written, 1, begin, begin + earlier.plan.head_width)),
                scores.data() + (earlier.first + index) * heads);
      }
      pause();
    }
  }
  return scores;
}

}  // namespace

HeadMatrices head_matrices(const Gpt& model, Index layer, Index index, DType dtype) {
  const AttentionPlan plan = block_plan(model.config(), layer).attention;
  const Index width = plan.head_width;
  const auto rows = [&](Index part) {
    const Index begin = plan.part_begin(part) + (part == 0 ? index : plan.key_head(index)) * width;
    return convert(model.weight_rows(Part::query_key_value, layer, begin, begin + width), dtype);
  };
  return {rows(0), rows(1), rows(2),
          convert(slice(model.weight(Part::attention_output, layer), 1, index * width,
                        (index + 1) * width),
                  dtype)};
}

std::vector<double> composition_scores(const Gpt& model, Composition kind,
                                       const std::function<void()>& pause) {
  const NoGrad no_grad;
  return compositions_of(model, kind, pause);
}

WeightScores weight_scores(const Gpt& model, const std::function<void()>& pause) {
  const NoGrad no_grad;
  return {HeadSet::all(model.heads()), copying_scores(model, pause),
          compositions_of(model, Composition::k, pause)};
}

}  // namespace headlight
