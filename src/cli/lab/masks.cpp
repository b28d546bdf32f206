#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/lab/pictures.h"
#include "cli/lab/report.h"
#include "cli/lab/tensor_text.h"
#include "headlight/autograd/autograd.h"
#include "headlight/ops/attention.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "headlight/ops/softmax.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kTokens = 4;
constexpr Index kWidth = 8;

constexpr Text kIntroduction{
    "The same random query, key and value (4 tokens of width 8) go through scaled dot-product "
    "attention four times, each time with other keys hidden. Rows are queries, columns are keys; "
    "in all of Headlight a mask that is true hides.",
    "같은 난수로 만든 쿼리(query), 키(key), 값(value)(차원이 8인 토큰 네 개)을 스케일드 닷 "
    "프로덕트 어텐션(scaled dot-product attention)에 네 번 넣되, 매번 가리는 키를 바꾼다. 행은 쿼리, 열은 "
    "키이다. Headlight에서 마스크(mask)의 참은 언제나 가린다는 뜻이다."};
constexpr Text kNone{"No mask", "마스크 없음"};
constexpr Text kNoneText{"Every token looks at every token, later ones included.",
                         "모든 토큰이 뒤에 오는 토큰까지 포함해 전부 본다."};
constexpr Text kCausal{"Causal: the future is hidden", "인과 마스크(causal mask): 미래를 가린다"};
constexpr Text kCausalText{
    "What a token may still see shares the weight that the future had, in the same proportions. "
    "The first token has only itself; the last row is as before.",
    "미래에 가 있던 가중치는 남은 토큰들이 원래 비율 그대로 나눠 갖는다. 첫 토큰에게는 자기 "
    "자신뿐이고, 마지막 행은 그대로이다."};
constexpr Text kPadding{"Padding: the last key is a pad",
                        "패딩 마스크(padding mask): 마지막 키가 패드"};
constexpr Text kPaddingText{
    "A column disappears instead of a triangle. The query of the pad still has a row: whoever "
    "reads the output must leave that row out.",
    "삼각형이 아니라 열 하나가 사라진다. 패드 자리의 쿼리에도 행은 남으므로, 출력을 쓰는 쪽에서 "
    "그 행을 빼야 한다."};
constexpr Text kNothing{"Row 2 may see nothing at all", "둘째 행은 아무것도 볼 수 없다"};
constexpr Text kNothingText{
    "A softmax over nothing but -inf is 0/0. Written out with exp and a sum it gives NaN, which "
    "then spreads to every weight of the model through the gradient. The softmax here gives such "
    "a row zeros, and zero gradients.",
    "-inf만 있는 행의 소프트맥스(softmax)는 0/0이다. exp와 합으로 그대로 쓰면 NaN이 나오고, 이것이 "
    "기울기를 타고 모델의 모든 가중치로 퍼진다. 여기의 소프트맥스는 그런 행에 0을 주고 기울기도 "
    "0으로 한다."};
constexpr Text kByHand{"The same row with exp(score) / sum exp(score):",
                       "같은 행을 exp(점수) / Σ exp(점수)로 쓰면:"};

const std::vector<std::string>& tokens() {
  static const std::vector<std::string> kNames{"I", "love", "deep", "learning"};
  return kNames;
}

struct Projections {
  Tensor query;
  Tensor key;
  Tensor value;
};

Projections make_projections(std::uint64_t seed) {
  const auto draw = [seed](std::uint64_t stream) {
    return random_normal({kTokens, kWidth}, {seed, stream}, 0, 1, DType::float64);
  };
  return {draw(1), draw(2), draw(3)};
}

struct Case {
  const char* id;
  Text title;
  Text text;
  Tensor mask;  // [T, S]; undefined: none
};

std::vector<Case> all_cases() {
  const Tensor pad = padding_mask({kTokens - 1}, kTokens);
  Tensor nothing = Tensor::zeros({kTokens, kTokens}, DType::boolean);
  nothing.strided_view({kTokens}, {1}, kTokens).fill(1);
  return {{"none", kNone, kNoneText, {}},
          {"causal", kCausal, kCausalText, causal_mask(kTokens)},
          {"padding", kPadding, kPaddingText, pad},
          {"nothing_visible", kNothing, kNothingText, nothing}};
}

Tensor show(const Case& shown, const Projections& given, Report& report) {
  report.heading(shown.title);
  const AttentionResult result =
      scaled_dot_product_attention(given.query, given.key, given.value, {.mask = shown.mask});
  report.block(shades(result.weights, tokens()));
  report.block(tensor_text("weights", result.weights));
  report.paragraph(shown.text);
  const Tensor sums = sum(result.weights, {.axes = {1}});
  report.block(tensor_text("weights.sum(-1)", sums));
  report.values()[shown.id] = {{"weights", result.weights.to_vector()},
                               {"row_sums", sums.to_vector()},
                               {"output", result.output.to_vector()}};
  report.figure(std::string(shown.id) + ".svg",
                weights_svg(report.words(shown.title), tokens(), result.weights));
  return result.weights;
}

// Softmax over the visible scores, without a special case for rows with none.
Tensor careless_softmax(const Projections& given, const Tensor& mask) {
  const Tensor scores = matmul(given.query, transpose(given.key)) / std::sqrt(double{kWidth});
  const Tensor visible = exp(masked_fill(scores, mask, -std::numeric_limits<double>::infinity()));
  return div(visible, sum(visible, {.axes = {1}, .keepdim = true}));
}

bool all_finite(const Tensor& x) {
  const std::vector<double> values = x.to_vector();
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

// True if the gradients of query, key and value are all finite.
bool gradients_are_finite(Projections given, const Tensor& mask) {
  for (Tensor* x : {&given.query, &given.key, &given.value}) {
    x->set_requires_grad();
  }
  backward(sum(
      scaled_dot_product_attention(given.query, given.key, given.value, {.mask = mask}).output));
  return all_finite(given.query.grad()) && all_finite(given.key.grad()) &&
         all_finite(given.value.grad());
}

// Largest difference between causal weights and unmasked weights renormalised over visible keys.
double largest_deviation(const Tensor& all, const Tensor& causal) {
  const Tensor kept = tril(all);
  const Tensor expected = div(kept, sum(kept, {.axes = {1}, .keepdim = true}));
  const std::vector<double> a = expected.to_vector();
  const std::vector<double> b = causal.to_vector();
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

void claim_findings(const std::vector<Tensor>& weights, const Projections& given,
                    const Tensor& empty_row, Report& report) {
  const double deviation = largest_deviation(weights[0], weights[1]);
  report.claim({"causal_renormalises",
                deviation < 1e-12,
                {"Causal weights are the unmasked ones divided by what stays visible, to {0}.",
                 "인과 가중치는 마스크 없는 가중치를 보이는 몫으로 나눈 것과 {0} 이내로 같다."},
                {"Causal weights differ from the renormalised ones by {0}.",
                 "인과 가중치가 다시 정규화한 값과 {0}만큼 다르다."}},
               {concat_text(deviation)});
  const double on_pad = sum(slice(weights[2], 1, kTokens - 1, kTokens)).item();
  report.claim({"pads_get_nothing",
                on_pad == 0,
                {"The pad gets exactly 0.", "패드가 받는 가중치는 정확히 0이다."},
                {"The pad gets {0}.", "패드가 받는 가중치는 {0}이다."}},
               {concat_text(on_pad)});
  const bool finite = gradients_are_finite(given, empty_row);
  report.claim({"empty_row_is_safe",
                finite && all_finite(weights[3]),
                {"With an empty row all weights and gradients are numbers.",
                 "빈 행이 있어도 가중치와 기울기가 모두 유한한 수이다."},
                {"An empty row leads to values that are not numbers.",
                 "빈 행 때문에 수가 아닌 값이 나온다."}});
}

}  // namespace

void run_masks(const Settings& settings, Report& report) {
  report.paragraph(kIntroduction);
  const Projections given = make_projections(settings.seed);
  const std::vector<Case> cases = all_cases();
  std::vector<Tensor> weights;
  for (const Case& shown : cases) {
    weights.push_back(show(shown, given, report));
  }
  const Tensor careless = careless_softmax(given, cases.back().mask);
  report.paragraph(kByHand);
  report.block(tensor_text("weights[1]", reshape(slice(careless, 0, 1, 2), {kTokens})));
  report.values()["careless_row"] = slice(careless, 0, 1, 2).to_vector();
  claim_findings(weights, given, cases.back().mask, report);
}

}  // namespace headlight::cli::lab
