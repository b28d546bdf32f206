#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/lab/pictures.h"
#include "cli/lab/report.h"
#include "cli/lab/tensor_text.h"
#include "headlight/ops/attention.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/softmax.h"

namespace headlight::cli::lab {
namespace {

constexpr Text kIntroduction{
    "Three tokens with four features each go through attention in float64. Every line is computed "
    "by the same operations that models here train with, and printed as PyTorch prints tensors. "
    "x, the weights and the names are those of the usual classroom example.",
    "특징이 네 개씩인 토큰 세 개를 float64로 어텐션(attention)에 통과시킨다. 모든 줄은 이 "
    "프로그램이 모델을 학습할 때 쓰는 바로 그 연산으로 계산하고, PyTorch가 텐서를 출력하는 "
    "모양 그대로 보여 준다. x와 가중치, 이름은 노트의 예제에 있는 것이다."};
constexpr Text kSingle{"1. Self-attention with a single head",
                       "1. 헤드가 하나인 셀프 어텐션(self-attention)"};
constexpr Text kMatrices{"The weights of the layer:", "층의 가중치:"};
constexpr Text kProducts{"x times the weights of queries, keys and values:",
                         "x에 쿼리, 키, 값의 가중치를 각각 곱한 결과:"};
constexpr Text kScores{"Every query meets every key: one dot product each.",
                       "모든 쿼리(query)를 모든 키(key)와 내적한다."};
constexpr Text kWeights{
    "Divided by the root of the key width (3), softmax turns each row into shares of 1.",
    "키의 차원(3)의 제곱근으로 나눈 뒤 소프트맥스(softmax)를 취하면 각 행이 합이 1인 비율이 "
    "된다."};
constexpr Text kOutput{"The output of a token is the average of the values with those shares.",
                       "토큰의 출력은 그 비율로 값(value) 벡터를 가중 평균한 것이다."};
constexpr Text kMulti{"2. Multi-head attention: two heads of width 2",
                      "2. 멀티 헤드 어텐션(multi-head attention): 차원이 2인 헤드 두 개"};
constexpr Text kSplit{
    "Splitting into heads copies nothing: the columns are only counted as (head, feature).",
    "헤드로 나눌 때는 아무것도 복사하지 않는다. 열을 (헤드, 특징)으로 세는 방식만 바뀐다."};
constexpr Text kHeadScores{
    "Scores of each head, einsum(\"thd,shd->hts\"). That both heads agree here is an accident of "
    "these weights.",
    "헤드별 점수, einsum(\"thd,shd->hts\"). 두 헤드의 점수가 같은 것은 이 가중치에서 생긴 "
    "우연이다."};
constexpr Text kHeadOutput{"Weighted values of each head, then the heads side by side.",
                           "헤드별 가중합을 구한 뒤 헤드를 나란히 이어 붙인다."};
constexpr Text kProjection{"W_O mixes what the heads found.",
                           "W_O가 헤드들이 찾아낸 것을 한데 섞는다."};
constexpr Text kMasked{"3. The same with a causal mask",
                       "3. 인과 마스크(causal mask)를 씌운 같은 계산"};
constexpr Text kMask{"True means hidden: token t may not see later ones.",
                     "True는 가린다는 뜻이다. 토큰 t는 자기보다 뒤에 있는 토큰을 볼 수 없다."};
constexpr Text kSummary{
    "What to see: scores grow with the length of the vectors, so that the second token (the "
    "longest) takes most of the weight in part 1. The mask changes rows 1 and 2 only; the last "
    "token sees everything either way.",
    "눈여겨볼 점: 점수는 벡터가 길수록 커지므로 1번에서는 가장 긴 둘째 토큰이 가중치를 거의 다 "
    "가져간다. 마스크는 첫째 행과 둘째 행만 바꾼다. 마지막 토큰은 어느 쪽이든 전부 보기 "
    "때문이다."};

Tensor matrix(std::initializer_list<double> values, const Shape& shape) {
  return Tensor::from(values, shape);
}

// Shows named tensors and keeps their values for JSON.
class Steps {
 public:
  Steps(Report& report, const std::string& part, bool scientific)
      : report_(report), part_(part), scientific_(scientific) {}

  void show(const std::string& name, const Tensor& tensor) {
    report_.block(tensor_text(name, tensor, {.scientific = scientific_}));
    report_.values()[part_][name] = tensor.to_vector();
  }

  // Shows attention weights as numbers and as a figure. The terminal shows the first head.
  void show_weights(const std::string& name, const Tensor& weights) {
    show(name, weights);
    const Tensor first = weights.rank() == 3 ? reshape(slice(weights, 0, 0, 1), {3, 3}) : weights;
    const std::vector<std::string> tokens{"x[0]", "x[1]", "x[2]"};
    report_.block(shades(first, tokens));
    report_.figure(part_ + ".svg", weights_svg("Attention: " + part_, tokens, weights));
  }

 private:
  Report& report_;
  std::string part_;
  bool scientific_;
};

// Largest difference between the stepwise result and the result of one call.
double difference(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector();
  const std::vector<double> y = b.to_vector();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(x[i] - y[i]));
  }
  return largest;
}

// Shows each step. Returns the largest difference from scaled_dot_product_attention().
double single_head(const Tensor& x, Report& report) {
  report.heading(kSingle);
  Steps steps(report, "single_head", true);
  steps.show("x", x);
  const auto project = [&](const std::string& name, std::initializer_list<double> weights) {
    const Tensor weight = matrix(weights, {4, 3});
    steps.show(name, weight);
    return matmul(x, weight);
  };
  report.paragraph(kMatrices);
  const Tensor querys = project("w_query", {1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1});
  const Tensor keys = project("w_key", {0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0});
  const Tensor values = project("w_value", {0, 2, 0, 0, 3, 0, 1, 0, 3, 1, 1, 0});
  report.paragraph(kProducts);
  steps.show("querys", querys);
  steps.show("keys", keys);
  steps.show("values", values);
  report.paragraph(kScores);
  const Tensor scores = matmul(querys, transpose(keys));
  steps.show("attn_scores", scores);
  report.paragraph(kWeights);
  const Tensor root = sqrt(Tensor::scalar(static_cast<double>(keys.size(-1)), DType::float64));
  steps.show("key_dim_sqrt", root);
  const Tensor weights = softmax(div(scores, root));
  steps.show_weights("attn_scores_softmax", weights);
  report.paragraph(kOutput);
  const Tensor output = matmul(weights, values);
  steps.show("weighted_values", output);
  return difference(output, scaled_dot_product_attention(querys, keys, values).output);
}

// Query, key and value [3, 2, 2] of both heads, and the output projection.
struct TwoHeads {
  Tensor query;
  Tensor key;
  Tensor value;
  Tensor output_weight = matrix({1, 0, 0.5, 0, 0, 1, 0, 0.5, 0.5, 0, 1, 0, 0, 0.5, 0, 1}, {4, 4});
};

TwoHeads split_heads(const Tensor& x, Report& report) {
  report.heading(kMulti);
  Steps steps(report, "multi_head", false);
  const auto project = [&](const std::string& name, std::initializer_list<double> weights) {
    const Tensor weight = matrix(weights, {4, 4});
    steps.show(name, weight);
    return matmul(x, weight);
  };
  report.paragraph(kMatrices);
  const Tensor q = project("W_Q", {1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1});
  const Tensor k = project("W_K", {0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1});
  const Tensor v = project("W_V", {1, 0, 2, 0, 0, 1, 0, 2, 1, 0, 0, 1, 0, 1, 1, 0});
  steps.show("W_O", TwoHeads{}.output_weight);
  report.paragraph(kProducts);
  steps.show("Q", q);
  steps.show("K", k);
  steps.show("V", v);
  report.paragraph(kSplit);
  const TwoHeads heads{reshape(q, {3, 2, 2}), reshape(k, {3, 2, 2}), reshape(v, {3, 2, 2})};
  steps.show("Qh", heads.query);
  steps.show("Kh", heads.key);
  steps.show("Vh", heads.value);
  return heads;
}

// Multiplies weights by values, joins the heads and projects them: the output [3, 4]. Reports every
// step.
Tensor finish(const TwoHeads& heads, const Tensor& weights, Steps& steps, Report& report) {
  steps.show_weights("attn", weights);
  report.paragraph(kHeadOutput);
  const Tensor outputs = einsum("hts,shd->thd", weights, heads.value);
  steps.show("out_heads", outputs);
  const Tensor joined = reshape(outputs, {3, 4});
  steps.show("out_concat", joined);
  report.paragraph(kProjection);
  const Tensor out = matmul(joined, heads.output_weight);
  steps.show("out", out);
  return out;
}

// Output [3, 4] from a single call of scaled_dot_product_attention().
Tensor in_one_call(const TwoHeads& heads, bool causal) {
  const auto by_head = [](const Tensor& x) { return transpose(x, 0, 1); };
  const Tensor output = scaled_dot_product_attention(by_head(heads.query), by_head(heads.key),
                                                     by_head(heads.value), {.causal = causal})
                            .output;
  return matmul(reshape(transpose(output, 0, 1), {3, 4}), heads.output_weight);
}

double two_heads(const TwoHeads& heads, Report& report) {
  Steps steps(report, "multi_head", false);
  report.paragraph(kHeadScores);
  const Tensor scores = einsum("thd,shd->hts", heads.query, heads.key);
  steps.show("scores", scores);
  const Tensor out = finish(heads, softmax(scores / std::sqrt(2.0)), steps, report);
  return difference(out, in_one_call(heads, false));
}

double masked_heads(const TwoHeads& heads, Report& report) {
  report.heading(kMasked);
  Steps steps(report, "masked", false);
  report.paragraph(kMask);
  const Tensor mask = causal_mask(3);
  steps.show("causal_mask", mask);
  const Tensor scores = einsum("thd,shd->hts", heads.query, heads.key);
  const Tensor hidden = masked_fill(scores, mask, -std::numeric_limits<double>::infinity());
  report.block(tensor_text("scores_masked", hidden));
  const Tensor out = finish(heads, softmax(hidden / std::sqrt(2.0)), steps, report);
  return difference(out, in_one_call(heads, true));
}

}  // namespace

void run_worked_example(const Settings& /*settings*/, Report& report) {
  report.paragraph(kIntroduction);
  const Tensor x = matrix({1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1}, {3, 4});
  double largest = single_head(x, report);
  const TwoHeads heads = split_heads(x, report);
  largest = std::max(largest, two_heads(heads, report));
  largest = std::max(largest, masked_heads(heads, report));
  report.values()["largest_difference"] = largest;
  report.paragraph(kSummary);
  report.claim({"steps_equal_one_call",
                largest < 1e-12,
                {"Step by step and in one call of scaled_dot_product_attention the outputs agree "
                 "to {0}.",
                 "한 단계씩 계산한 출력과 scaled_dot_product_attention을 한 번 부른 출력의 차이는 "
                 "{0} 이하이다."},
                {"Step by step and in one call the outputs differ by {0}.",
                 "한 단계씩 계산한 출력과 한 번에 부른 출력이 {0}만큼 다르다."}},
               {concat_text(largest)});
}

}  // namespace headlight::cli::lab
