#include <algorithm>
#include <cmath>

#include "cli/lab/report.h"
#include "cli/lab/tensor_text.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/normalization.h"
#include "headlight/ops/reduce.h"
#include "headlight/views/plot/matrix_plot.h"

namespace headlight::cli::lab {
namespace {

constexpr Text kIntroduction{
    "Both norms subtract a mean and divide by a standard deviation; they differ in what they take "
    "it over. LayerNorm looks at the features of one sample (a row), BatchNorm at one feature of "
    "all samples (a column). Gain 1 and shift 0, population variance, epsilon 1e-5.",
    "두 정규화(normalization) 모두 평균을 빼고 표준편차로 나눈다. 다른 점은 무엇에 대해 "
    "구하느냐이다. "
    "LayerNorm은 샘플 하나의 특징들(행)을, BatchNorm은 모든 샘플의 특징 하나(열)를 본다. 감마(γ)는 "
    "1, "
    "베타(β)는 0, 분산은 모분산, 엡실론(ε)은 1e-5이다."};
constexpr Text kMoments{"Means and standard deviations", "평균과 표준편차"};
constexpr Text kOver{"norm", "정규화"};
constexpr Text kAxis{"over", "축"};
constexpr Text kRows{"features, dim=-1", "특징 축, dim=-1"};
constexpr Text kColumns{"batch, dim=0", "배치 축, dim=0"};
constexpr Text kMean{"mean", "평균"};
constexpr Text kDeviation{"std", "표준편차"};
constexpr Text kSide{"The same input, both norms", "같은 입력, 두 정규화"};
constexpr Text kConstant{
    "Row 2 is constant: its variance is 0, and only epsilon under the root keeps LayerNorm from "
    "dividing by zero. Column 1 is constant, and the same saves BatchNorm.",
    "둘째 행은 값이 모두 같아 분산이 0이고, 제곱근 안의 ε 덕분에 LayerNorm이 0으로 나누지 않는다. "
    "첫째 열도 값이 모두 같으며 BatchNorm을 구하는 것도 마찬가지로 ε이다."};
constexpr Text kByHand{
    "By hand, as (x - mean) / (std + 1e-7): the four digits that one prints agree, but it is "
    "another formula. The distance from it:",
    "(x - 평균) / (표준편차 + 1e-7)로 직접 계산하면 출력되는 네 자리는 같지만 사실은 다른 식이다. "
    "두 식의 차이:"};
constexpr Text kBatch{"The same sample in another batch", "같은 샘플을 다른 배치에 넣으면"};
constexpr Text kBatchText{
    "Row 1 stays [1, 2, 3]; the other sample of the batch becomes [7, -2, 0].",
    "첫째 행은 [1, 2, 3] 그대로 두고, 배치의 다른 샘플만 [7, -2, 0]으로 바꾼다."};
constexpr Text kWhy{
    "That is why transformers use LayerNorm: a token's result may depend neither on which "
    "sentences happen to share its batch nor on the pads in it, and a batch of one works. Outside "
    "of training BatchNorm has to fall back on running averages, here after one batch:",
    "트랜스포머(transformer)가 LayerNorm을 쓰는 까닭이 이것이다. 토큰의 결과가 우연히 같은 배치에 "
    "든 "
    "문장이나 패드에 따라 달라지면 안 되고, 배치 크기가 1이어도 계산할 수 있어야 한다. BatchNorm은 "
    "학습이 끝나면 이동 평균에 기대야 한다. 배치 하나를 본 뒤의 이동 평균으로는 이렇다:"};

Tensor matrix(std::initializer_list<double> values) { return Tensor::from(values, {2, 3}); }

Tensor gain() { return Tensor::ones({3}, DType::float64); }
Tensor shift() { return Tensor::zeros({3}, DType::float64); }

struct BothNorms {
  Tensor layer;
  Tensor batch;
  RunningStatistics running;
};

BothNorms normalized(const Tensor& x) {
  BothNorms result;
  result.running = {Tensor::zeros({3}, DType::float64), Tensor::ones({3}, DType::float64)};
  result.layer = layer_norm(x, gain(), shift());
  result.batch = batch_norm(x, gain(), shift(), result.running);
  return result;
}

Tensor by_hand(const Tensor& x, Index axis) {
  const ReduceOptions over{.axes = {axis}, .keepdim = true};
  return div(sub(x, mean(x, over)), sqrt(var(x, over, 0)) + 1e-7);
}

double distance(const Tensor& a, const Tensor& b) { return max(sqrt(pow(sub(a, b), 2))).item(); }

std::string list_of(const Tensor& x) {
  std::string text;
  for (const double value : x.to_vector()) {
    text += (text.empty() ? "" : ", ") + fixed_number(value, 4);
  }
  return text;
}

void show_moments(const Tensor& x, Report& report) {
  report.heading(kMoments);
  Table table({{report.words(kOver), true},
               {report.words(kAxis), true},
               {report.words(kMean), true},
               {report.words(kDeviation), true}});
  for (const Index axis : {Index{1}, Index{0}}) {
    const Tensor means = mean(x, {.axes = {axis}});
    const Tensor deviations = sqrt(var(x, {.axes = {axis}}, 0));
    const char* name = axis == 1 ? "layer" : "batch";
    table.add({axis == 1 ? "LayerNorm" : "BatchNorm", report.words(axis == 1 ? kRows : kColumns),
               list_of(means), list_of(deviations)});
    report.values()[name] = {{"mean", means.to_vector()}, {"std", deviations.to_vector()}};
  }
  report.table(table);
}

std::string heat_map(const std::string& title, const Tensor& x, const Report& report) {
  return matrix_plot_svg({.title = title,
                          .row_title = report.words({"sample", "샘플"}),
                          .column_title = report.words({"feature", "특징"}),
                          .rows = {"0", "1"},
                          .columns = {"0", "1", "2"},
                          .values = x.to_vector()});
}

void show_both(const Tensor& x, const BothNorms& norms, Report& report) {
  report.heading(kSide);
  report.block(tensor_text("input", x));
  report.block(tensor_text("LayerNorm", norms.layer));
  report.block(tensor_text("BatchNorm", norms.batch));
  report.paragraph(kConstant);
  report.figure("input.svg", heat_map(report.words({"Input", "입력"}), x, report));
  report.figure("layer_norm.svg",
                heat_map(report.words({"LayerNorm: over each row", "LayerNorm: 행마다"}),
                         norms.layer, report));
  report.figure("batch_norm.svg",
                heat_map(report.words({"BatchNorm: over each column", "BatchNorm: 열마다"}),
                         norms.batch, report));
  report.values()["layer"]["output"] = norms.layer.to_vector();
  report.values()["batch"]["output"] = norms.batch.to_vector();
  report.paragraph(kByHand);
  const double layer = distance(norms.layer, by_hand(x, 1));
  const double batch = distance(norms.batch, by_hand(x, 0));
  report.values()["layer"]["distance_by_hand"] = layer;
  report.values()["batch"]["distance_by_hand"] = batch;
  report.block(concat_text("LayerNorm ", layer, "\nBatchNorm ", batch, "\n"));
}

// Largest difference between the first rows of x and y.
double change_of_first_row(const Tensor& x, const Tensor& y) {
  const std::vector<double> a = x.to_vector();
  const std::vector<double> b = y.to_vector();
  double largest = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

void show_other_batch(const BothNorms& before, Report& report) {
  report.heading(kBatch);
  report.paragraph(kBatchText);
  const Tensor x = matrix({1, 2, 3, 7, -2, 0});
  const BothNorms after = normalized(x);
  report.block(tensor_text("LayerNorm", after.layer));
  report.block(tensor_text("BatchNorm", after.batch));
  const double layer = change_of_first_row(before.layer, after.layer);
  const double batch = change_of_first_row(before.batch, after.batch);
  report.values()["layer"]["change_in_other_batch"] = layer;
  report.values()["batch"]["change_in_other_batch"] = batch;
  report.claim(
      {"layer_norm_ignores_the_batch",
       layer == 0 && batch > 0,
       {"In another batch row 1 of LayerNorm stays the same to the last bit; that of "
        "BatchNorm changes by up to {0}.",
        "배치가 바뀌어도 LayerNorm의 첫째 행은 마지막 비트까지 같고, BatchNorm의 첫째 행은 "
        "최대 {0} 달라진다."},
       {"In another batch row 1 changes by {1} (LayerNorm) and {0} (BatchNorm).",
        "배치가 바뀌면 첫째 행이 LayerNorm은 {1}, BatchNorm은 {0} 달라진다."}},
      {fixed_number(batch, 4), fixed_number(layer, 4)});
}

}  // namespace

void run_norms(const Settings& /*settings*/, Report& report) {
  report.paragraph(kIntroduction);
  const Tensor x = matrix({1, 2, 3, 1, 1, 1});
  show_moments(x, report);
  BothNorms norms = normalized(x);
  show_both(x, norms, report);
  show_other_batch(norms, report);
  report.paragraph(kWhy);
  const Tensor fallback = batch_norm(x, gain(), shift(), norms.running, {.training = false});
  report.block(tensor_text("BatchNorm.eval()", fallback));
  report.values()["batch"]["output_outside_training"] = fallback.to_vector();
}

}  // namespace headlight::cli::lab
