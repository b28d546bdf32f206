#include <algorithm>
#include <array>
#include <cmath>

#include "cli/lab/pictures.h"
#include "cli/lab/report.h"
#include "headlight/autograd/autograd.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "headlight/ops/softmax.h"
#include "headlight/tensor/random.h"
#include "views/plot/chart.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kTokens = 4;
constexpr std::size_t kBins = 20;

constexpr Text kIntroduction{
    "Query and key are standard normal numbers for 4 tokens; {0} independent draws for every d_k, "
    "so that the histograms are those of the distribution and not of luck. A dot product of d_k "
    "such pairs has the variance d_k: without scaling, scores grow with the root of d_k.",
    "토큰 네 개의 쿼리(query)와 키(key)를 표준 정규 분포에서 뽑는다. 히스토그램이 우연이 아니라 "
    "분포를 "
    "보여 주도록 d_k마다 {0}번씩 따로 뽑는다. 이런 수 d_k쌍의 내적은 분산이 d_k이므로, 나누지 "
    "않으면 점수는 √d_k에 비례해 커진다."};
constexpr Text kHistograms{"Histograms of the attention weights (20 bins from 0 to 1)",
                           "어텐션 가중치(attention weight)의 히스토그램(0부터 1까지 20칸)"};
constexpr Text kHeightText{"Heights are shares of all weights, in percent.",
                           "높이는 전체 가중치 가운데 차지하는 비율(%)이다."};
constexpr Text kNumbers{"In numbers", "숫자로 보면"};
constexpr Text kWithout{"no scaling", "나누지 않음"};
constexpr Text kWith{"1/√d_k", "1/√d_k"};
constexpr Text kScale{"scores", "점수"};
constexpr Text kDeviation{"std", "표준편차"};
constexpr Text kEntropy{"entropy", "엔트로피"};
constexpr Text kLargest{"largest", "최댓값"};
constexpr Text kExtreme{"near 0 or 1", "0 또는 1 근처"};
constexpr Text kGradient{"gradient", "기울기"};
constexpr Text kExplanation{
    "'std' is the standard deviation of the scores, 'largest' the mean of the largest weight of a "
    "query. Entropy, in nats, is the mean over queries: ln 4 = {0} when a query looks at all four "
    "keys alike, 0 "
    "when it looks at one only. 'near 0 or 1' is the share of weights in the outermost two bins. "
    "The gradient is the root mean square of what arrives at the scores that enter the softmax "
    "when the gradient of the weights is standard normal: where the softmax is saturated, next to "
    "nothing passes, and query and key stop learning.",
    "'표준편차'는 점수의 표준편차, '최댓값'은 쿼리마다 가장 큰 가중치의 평균이다. "
    "엔트로피(entropy, 단위 "
    "nat)도 쿼리에 대한 평균이다. 쿼리가 네 키를 똑같이 보면 ln 4 = {0}, 하나만 보면 "
    "0이다. "
    "'0 또는 1 근처'는 양 끝 두 칸에 든 가중치의 비율이다. 기울기(gradient)는 가중치 쪽에서 표준 "
    "정규 "
    "분포의 기울기를 흘려보냈을 때 소프트맥스(softmax)에 들어가는 점수에 도착하는 값의 "
    "제곱평균제곱근이다. "
    "소프트맥스가 포화되면 거의 아무것도 지나가지 못해 쿼리와 키가 더는 배우지 못한다."};

struct Distribution {
  Index d_k = 0;
  bool scaled = false;
  double deviation = 0;                // of the scores
  double entropy = 0;                  // mean over queries, nats
  double largest = 0;                  // mean over queries of the largest weight
  double extreme = 0;                  // share of weights below 1/20 or above 19/20
  double gradient = 0;                 // root mean square over the scores
  std::vector<double> histogram = {};  // [kBins] shares
};

std::vector<double> histogram_of(const std::vector<double>& weights) {
  std::vector<double> shares(kBins, 0.0);
  for (const double weight : weights) {
    const auto bin = static_cast<std::size_t>(weight * static_cast<double>(kBins));
    shares[std::min(bin, kBins - 1)] += 1.0 / static_cast<double>(weights.size());
  }
  return shares;
}

double entropy_of(const std::vector<double>& weights) {
  double sum = 0;
  for (const double weight : weights) {
    sum -= weight > 0 ? weight * std::log(weight) : 0;
  }
  return sum * static_cast<double>(kTokens) / static_cast<double>(weights.size());
}

double root_mean_square(const Tensor& x) { return std::sqrt(mean(pow(x, 2)).item()); }

Distribution measure(Index d_k, bool scaled, Index draws, std::uint64_t seed) {
  const auto draw = [&](const Shape& shape, std::uint64_t stream) {
    return random_normal(shape, RandomStream{seed, static_cast<std::uint64_t>(d_k)}.fork(stream), 0,
                         1, DType::float64);
  };
  const Tensor query = draw({draws, kTokens, d_k}, 1);
  const Tensor key = draw({draws, kTokens, d_k}, 2);
  Tensor scores = matmul(query, transpose(key));
  if (scaled) {
    scores = scores / std::sqrt(static_cast<double>(d_k));
  }
  scores.set_requires_grad();
  const Tensor weights = softmax(scores);
  backward(weights, {.gradient = draw(weights.shape(), 3)});
  const std::vector<double> values = weights.to_vector();
  Distribution result{.d_k = d_k,
                      .scaled = scaled,
                      .deviation = root_mean_square(scores.detach()),
                      .entropy = entropy_of(values),
                      .largest = mean(max(weights.detach(), {.axes = {2}})).item(),
                      .gradient = root_mean_square(scores.grad()),
                      .histogram = histogram_of(values)};
  result.extreme = result.histogram.front() + result.histogram.back();
  return result;
}

// Outline of a histogram as a curve.
PlotSeries outline(const std::string& name, const std::vector<double>& histogram) {
  PlotSeries series{.name = name, .x = {}, .y = {}};
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    for (const std::size_t edge : {bin, bin + 1}) {
      series.x.push_back(static_cast<double>(edge) / static_cast<double>(kBins));
      series.y.push_back(100 * histogram[bin]);
    }
  }
  return series;
}

std::string chart_of(const Distribution& distribution, double highest) {
  std::vector<double> percents;
  for (const double share : distribution.histogram) {
    percents.push_back(100 * share);
  }
  return line_chart(percents, {.width = static_cast<int>(kBins),
                               .height = 5,
                               .x_label = "0" + std::string(kBins - 2, ' ') + "1",
                               .low = 0,
                               .high = highest});
}

// Highest bar of all histograms, in percent.
double highest_bar(const std::vector<Distribution>& all) {
  double highest = 0;
  for (const Distribution& one : all) {
    highest =
        std::max(highest, 100 * *std::max_element(one.histogram.begin(), one.histogram.end()));
  }
  return highest;
}

void draw_pair(const Distribution& without, const Distribution& with, double highest,
               Report& report) {
  const std::string name = "d_k = " + std::to_string(with.d_k);
  report.block(
      side_by_side({name + ", " + report.words(kWithout), name + ", " + report.words(kWith)},
                   {chart_of(without, highest), chart_of(with, highest)}));
  draw_curves(
      "d_k_" + std::to_string(with.d_k) + ".svg",
      {.title = report.words({"Attention weights at {0}", "{0}일 때의 어텐션 가중치"}, {name}),
       .x_label = {"attention weight", "어텐션 가중치"},
       .y_label = {"share of all weights, %", "전체 가중치에서 차지하는 비율, %"},
       .series = {outline(report.words(kWithout), without.histogram),
                  outline(report.words(kWith), with.histogram)}},
      report);
}

void show_numbers(const std::vector<Distribution>& all, Report& report) {
  report.heading(kNumbers);
  Table table({{"d_k"},
               {report.words(kScale), true},
               {report.words(kDeviation)},
               {report.words(kEntropy)},
               {report.words(kLargest)},
               {report.words(kExtreme)},
               {report.words(kGradient)}});
  for (const Distribution& one : all) {
    table.add({std::to_string(one.d_k), report.words(one.scaled ? kWith : kWithout),
               fixed_number(one.deviation, 2), fixed_number(one.entropy, 3),
               fixed_number(one.largest, 3), fixed_number(100 * one.extreme, 1) + " %",
               fixed_number(one.gradient, 4)});
    report.values()["cases"].push_back({{"d_k", one.d_k},
                                        {"scaled", one.scaled},
                                        {"score_deviation", one.deviation},
                                        {"entropy", one.entropy},
                                        {"largest_weight", one.largest},
                                        {"extreme_share", one.extreme},
                                        {"gradient", one.gradient},
                                        {"histogram", one.histogram}});
  }
  report.table(table);
  report.paragraph(kExplanation, {fixed_number(std::log(double{kTokens}), 3)});
}

// `all` holds pairs without and with scaling, ordered by d_k.
void claim_findings(const std::vector<Distribution>& all, Report& report) {
  const Distribution& first = all.front();
  const Distribution& last = all[all.size() - 2];
  const Distribution& first_scaled = all[1];
  const Distribution& last_scaled = all.back();
  report.claim(
      {"peaked_without_scaling",
       last.extreme > 0.9 && last.entropy < first.entropy / 2,
       {"Without scaling, d_k = {0} makes the softmax extremely peaked: {1} % of the "
        "weights are near 0 or 1, and the entropy is {2} nats instead of {3} at d_k = {4}.",
        "나누지 않으면 d_k = {0}에서 소프트맥스가 극단적으로 뾰족해진다. 가중치의 {1}%가 0이나 1 "
        "근처에 있고, 엔트로피는 d_k = {4}일 때의 {3} nat에서 {2} nat로 줄어든다."},
       {"Without scaling, at d_k = {0} {1} % of the weights are near 0 or 1 and the "
        "entropy is {2} nats, at d_k = {4} {3}: no extreme peak.",
        "나누지 않아도 d_k = {0}에서 0이나 1 근처의 가중치는 {1}%, 엔트로피는 {2} nat(d_k = "
        "{4}에서는 "
        "{3})로, 극단적으로 뾰족하지는 않다."}},
      {std::to_string(last.d_k), fixed_number(100 * last.extreme, 1), fixed_number(last.entropy, 3),
       fixed_number(first.entropy, 3), std::to_string(first.d_k)});
  const double drift = std::abs(last_scaled.entropy - first_scaled.entropy);
  report.claim({"scaling_keeps_the_entropy",
                drift < 0.1 * first_scaled.entropy,
                {"With scaling the entropy hardly depends on d_k: {0} and {1} nats.",
                 "나누면 엔트로피가 d_k에 거의 좌우되지 않는다: {0} nat와 {1} nat."},
                {"Even with scaling the entropy depends on d_k: {0} and {1} nats.",
                 "나누어도 엔트로피가 d_k에 따라 달라진다: {0} nat와 {1} nat."}},
               {fixed_number(first_scaled.entropy, 3), fixed_number(last_scaled.entropy, 3)});
  report.claim({"gradient_vanishes_without_scaling",
                last.gradient < last_scaled.gradient / 2,
                {"At d_k = {0} the gradient at the softmax is {1} without scaling and {2} with it.",
                 "d_k = {0}에서 소프트맥스를 지난 기울기는 나누지 않으면 {1}, 나누면 {2}이다."},
                {"At d_k = {0} the gradient without scaling ({1}) is not much smaller than with it "
                 "({2}).",
                 "d_k = {0}에서 나누지 않은 기울기({1})가 나눈 것({2})보다 크게 작지 않다."}},
               {std::to_string(last.d_k), fixed_number(last.gradient, 4),
                fixed_number(last_scaled.gradient, 4)});
}

}  // namespace

void run_scaling(const Settings& settings, Report& report) {
  const Index draws = settings.full ? 8192 : 1024;
  report.paragraph(kIntroduction, {std::to_string(draws)});
  report.heading(kHistograms);
  report.paragraph(kHeightText);
  std::vector<Distribution> all;
  for (const Index d_k : {8, 64, 512}) {
    all.push_back(measure(d_k, false, draws, settings.seed));
    all.push_back(measure(d_k, true, draws, settings.seed));
  }
  for (std::size_t i = 0; i < all.size(); i += 2) {
    draw_pair(all[i], all[i + 1], highest_bar(all), report);
  }
  report.values()["draws"] = draws;
  show_numbers(all, report);
  claim_findings(all, report);
}

}  // namespace headlight::cli::lab
