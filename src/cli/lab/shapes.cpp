#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cli/lab/pictures.h"
#include "cli/lab/report.h"
#include "cli/lab/tensor_text.h"
#include "headlight/autograd/autograd.h"
#include "headlight/nn/batch.h"
#include "headlight/nn/layers.h"
#include "headlight/ops/attention.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/mask.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "headlight/ops/softmax.h"
#include "headlight/tensor/tensor.h"

namespace headlight::cli::lab {
namespace {

// Mean weight of real queries, over rows with pads: on all pads of a row together, and on one pad.
struct PadShare {
  double together = 0;
  double each = 0;
};

// weights [B, H, L, L]; `lengths` [B]: real tokens of each sequence.
PadShare share_of_pads(const Tensor& weights, const std::vector<Index>& lengths) {
  const std::vector<double> values = weights.to_vector();
  const Index side = weights.size(-1);
  double sum = 0;
  double pads = 0;
  Index rows = 0;
  for (Index row = 0; row < weights.numel() / side; ++row) {
    const Index length = lengths[static_cast<std::size_t>(row / (side * weights.size(1)))];
    if (row % side >= length || length == side) {
      continue;
    }
    for (Index s = length; s < side; ++s) {
      sum += values[static_cast<std::size_t>(row * side + s)];
      ++pads;
    }
    ++rows;
  }
  return {sum / static_cast<double>(rows), sum / pads};
}

// Largest difference between the rows of two pads of sequence 1, which has `length` real tokens.
double spread_of_pad_rows(const Tensor& weights, Index length) {
  const Index side = weights.size(-1);
  const Tensor rows = slice(slice(weights, 0, 1, 2), 2, length, side);
  const Tensor last = slice(rows, 2, side - length - 1, side - length);
  return max(sqrt(pow(sub(rows, last), 2))).item();
}

constexpr Index kVocabulary = 100;
constexpr Index kModelWidth = 512;
constexpr Index kHeads = 8;
constexpr Index kHeadWidth = kModelWidth / kHeads;

constexpr Text kIntroduction{
    "Ten sequences of 1 to 20 tokens are padded to a rectangle and go through multi-head attention "
    "of width 512 with 8 heads, one operation at a time. The random start is this program's own: "
    "shapes and structure agree with the notes, the random values cannot.",
    "길이가 1에서 20인 시퀀스(sequence) 열 개를 직사각형이 되도록 패딩(padding)하여, 차원 512에 "
    "헤드 8개인 멀티 "
    "헤드 어텐션(multi-head attention)에 연산 하나씩 통과시킨다. 난수 초기값은 이 프로그램의 "
    "것이므로 "
    "형태(shape)와 구조는 노트와 같지만 값 자체는 같을 수 없다."};
constexpr Text kPadded{"The padded batch", "패딩된 배치"};
constexpr Text kPaddedText{
    "Longest sequence {0}; {1} of {2} places hold real tokens ({3} %), the rest are pads (id 0).",
    "가장 긴 시퀀스는 {0}이다. {2}자리 가운데 {1}자리({3}%)만 진짜 토큰이고 나머지는 패드(id "
    "0)이다."};
constexpr Text kSteps{"Every step", "단계별로"};
constexpr Text kStep{"step", "단계"};
constexpr Text kShape{"shape", "형태"};
constexpr Text kMeaning{"axes", "축"};
constexpr Text kValues{"Values", "값"};
constexpr Text kPads{"What the pads do", "패드가 하는 일"};
constexpr Text kUnmasked{"no mask", "마스크 없음"};
constexpr Text kMasked{"padding mask", "패딩 마스크"};
constexpr Text kCase{"attention", "어텐션"};
constexpr Text kOnPads{"weight on pads", "패드에 간 가중치"};
constexpr Text kOnOnePad{"on each pad", "패드 하나당"};
constexpr Text kPicture{
    "Head 0 of sequence 1: its {0} tokens and the first of its pads as queries, all places as keys "
    "(darkest: {1} and more).",
    "시퀀스 1의 헤드 0. 쿼리는 토큰 {0}개와 첫 패드, 키는 모든 자리이다(가장 짙은 칸: {1} 이상)."};
constexpr Text kPadsText{
    "Without a mask, real tokens spend a large part of their attention on pads, which mean "
    "nothing; all rows of pads are equal, because they are the same vector and nothing tells "
    "positions apart. The padding mask gives pads exactly 0. (Models trained with this program "
    "never see pads at all: sequences are laid end to end.)",
    "마스크가 없으면 진짜 토큰이 아무 뜻도 없는 패드에 어텐션(attention)을 크게 빼앗긴다. 패드는 "
    "모두 같은 "
    "벡터이고 위치를 구별할 것도 없으므로 패드의 행은 전부 똑같다. 패딩 마스크(padding mask)를 "
    "쓰면 패드가 받는 "
    "가중치는 정확히 0이 된다. (이 프로그램으로 학습하는 모델에는 패드가 아예 없다. 시퀀스를 끝과 "
    "끝을 "
    "이어 늘어놓기 때문이다.)"};

std::vector<std::vector<std::int32_t>> sequences() {
  return {{62, 13, 47, 39, 78, 33, 56, 13, 39, 29, 44, 86, 71, 36, 18, 75},
          {60, 96, 51, 32, 90},
          {35, 45, 48, 65, 91, 99, 92, 10, 3, 21, 54},
          {75, 51},
          {66, 88, 98, 47},
          {21, 39, 10, 64, 21},
          {98},
          {77, 65, 51, 77, 19, 15, 35, 19, 23, 97, 50, 46, 53, 42, 45, 91, 66, 3, 43, 10},
          {70, 64, 98, 25, 99, 53, 4, 13, 69, 62, 66, 76, 15, 75, 45, 34},
          {20, 64, 81, 35, 76, 85, 1, 62, 8, 45, 99, 77, 19, 43}};
}

// Row of the table of shapes.
struct Step {
  const char* name;
  const char* axes;
  Tensor value;
};

// Query, key and value of all heads, [B, H, L, d_k].
struct Heads {
  Tensor query;
  Tensor key;
  Tensor value;
};

Heads split_into_heads(const Tensor& embedded, const std::array<Linear*, 3>& projections,
                       std::vector<Step>& steps) {
  std::vector<Tensor> heads;
  const std::array<const char*, 3> names{"w_q(batch_emb)", "w_k(batch_emb)", "w_v(batch_emb)"};
  for (std::size_t i = 0; i < 3; ++i) {
    const Tensor projected = projections[i]->forward(embedded);
    steps.push_back({names[i], "B, L, d_model", projected});
    heads.push_back(projected);
  }
  const Index batch = embedded.size(0);
  for (Tensor& x : heads) {
    x = reshape(x, {batch, -1, kHeads, kHeadWidth});
  }
  steps.push_back({"q, k, v .view", "B, L, heads, d_k", heads[0]});
  for (Tensor& x : heads) {
    x = transpose(x, 1, 2);
  }
  steps.push_back({"q, k, v .transpose(1, 2)", "B, heads, L, d_k", heads[0]});
  return {heads[0], heads[1], heads[2]};
}

// Computes the layer output from the heads and records each step.
Tensor attend(const Heads& heads, const Linear& output, std::vector<Step>& steps) {
  const Tensor scores = matmul(heads.query, transpose(heads.key)) / std::sqrt(double{kHeadWidth});
  steps.push_back({"attn_scores = q k^T / sqrt(d_k)", "B, heads, L, L", scores});
  const Tensor weights = softmax(scores);
  steps.push_back({"attn_dists = softmax", "B, heads, L, L", weights});
  const Tensor values = matmul(weights, heads.value);
  steps.push_back({"attn_values = attn_dists v", "B, heads, L, d_k", values});
  const Tensor turned = transpose(values, 1, 2);
  steps.push_back({"attn_values.transpose(1, 2)", "B, L, heads, d_k", turned});
  const Tensor joined = reshape(turned, {turned.size(0), -1, kModelWidth});
  steps.push_back({"contiguous().view", "B, L, d_model", joined});
  const Tensor outputs = output.forward(joined);
  steps.push_back({"w_0(attn_values)", "B, L, d_model", outputs});
  return weights;
}

std::string shape_text(const Tensor& x) { return concat_text(x.shape()); }

// Grid of ids. Pads are dots.
std::string grid_of(const PaddedBatch& batch) {
  const std::vector<double> ids = batch.tokens.to_vector();
  const std::vector<double> pads = batch.padding_mask.to_vector();
  const auto width = static_cast<std::size_t>(batch.tokens.size(1));
  std::string grid;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string id = fixed_number(ids[i], 0);
    grid += pads[i] != 0 ? "  ·" : std::string(3 - std::min<std::size_t>(3, id.size()), ' ') + id;
    grid += (i + 1) % width == 0 ? "\n" : "";
  }
  return grid;
}

void show_batch(const PaddedBatch& batch, Report& report) {
  report.heading(kPadded);
  report.block(grid_of(batch));
  Index real = 0;
  for (const Index length : batch.lengths) {
    real += length;
  }
  const Index places = batch.tokens.numel();
  report.paragraph(kPaddedText, {std::to_string(batch.tokens.size(1)), std::to_string(real),
                                 std::to_string(places), std::to_string(100 * real / places)});
  report.values()["longest"] = batch.tokens.size(1);
  report.values()["real_tokens"] = real;
  report.values()["places"] = places;
  report.values()["batch"] = batch.tokens.to_vector();
}

void show_steps(const std::vector<Step>& steps, Report& report) {
  report.heading(kSteps);
  Table table(
      {{report.words(kStep), true}, {report.words(kShape), true}, {report.words(kMeaning), true}});
  for (const Step& step : steps) {
    table.add({step.name, shape_text(step.value), step.axes});
    report.values()["steps"].push_back(
        {{"step", step.name},
         {"shape", std::vector<Index>(step.value.shape().begin(), step.value.shape().end())}});
  }
  report.table(table);
  report.heading(kValues);
  const auto print = [&](std::size_t i, const char* name) {
    report.block(tensor_text(name, reshape(slice(steps[i].value, 0, 0, 1),
                                           {steps[i].value.size(-2), steps[i].value.size(-1)})));
  };
  print(1, "emb[0]");
  print(steps.size() - 1, "out[0]");
}

// Weights [L, L] of the first head of sequence 1.
Tensor one_head(const Tensor& weights) {
  const Index side = weights.size(-1);
  return reshape(slice(slice(weights, 0, 1, 2), 1, 0, 1), {side, side});
}

void draw_pads(const Tensor& unmasked, const Tensor& masked, const PaddedBatch& batch,
               Report& report) {
  constexpr double kDarkest = 0.2;
  const Index rows = batch.lengths[1] + 1;  // real tokens and one pad
  std::vector<std::string> tokens;
  for (const double id : slice(batch.tokens, 0, 1, 2).to_vector()) {
    tokens.push_back(fixed_number(id, 0));
  }
  const auto top = [&](const Tensor& weights) {
    return shades(slice(one_head(weights), 0, 0, rows), {tokens.begin(), tokens.begin() + rows},
                  kDarkest);
  };
  report.paragraph(kPicture, {std::to_string(batch.lengths[1]), fixed_number(kDarkest, 1)});
  report.block(
      side_by_side({report.words(kUnmasked), report.words(kMasked)}, {top(unmasked), top(masked)}));
  report.figure("no_mask.svg", weights_svg(report.words(kUnmasked), tokens, one_head(unmasked)));
  report.figure("padding_mask.svg", weights_svg(report.words(kMasked), tokens, one_head(masked)));
}

void claim_findings(const std::array<PadShare, 2>& shares, double spread, Report& report) {
  report.claim(
      {"pads_attract_attention",
       shares[0].together > 0.1 && shares[1].together == 0,
       {"Without a mask real tokens give {0} of their attention to pads ({1} to each), "
        "with it exactly 0.",
        "마스크가 없으면 진짜 토큰이 어텐션의 {0}만큼을 패드에 쓰고(패드 하나에 {1}), 마스크가 "
        "있으면 정확히 0을 쓴다."},
       {"Pads get {0} of the attention without a mask ({1} each).",
        "마스크가 없을 때 패드가 받는 어텐션은 {0}(패드 하나에 {1})이다."}},
      {fixed_number(shares[0].together, 3), fixed_number(shares[0].each, 4)});
  report.claim({"pad_rows_are_equal",
                spread < 1e-6,
                {"All pads of a sequence look at the same places (largest difference of their "
                 "rows: {0}).",
                 "한 시퀀스의 패드는 모두 같은 곳을 본다(행 사이의 가장 큰 차이: {0})."},
                {"The rows of the pads of a sequence differ by up to {0}.",
                 "한 시퀀스의 패드 행들이 최대 {0}까지 다르다."}},
               {concat_text(spread)});
}

void show_pads(const Tensor& unmasked, const Tensor& masked, const PaddedBatch& batch,
               Report& report) {
  report.heading(kPads);
  Table table({{report.words(kCase), true}, {report.words(kOnPads)}, {report.words(kOnOnePad)}});
  const std::array<PadShare, 2> shares{share_of_pads(unmasked, batch.lengths),
                                       share_of_pads(masked, batch.lengths)};
  for (std::size_t i = 0; i < 2; ++i) {
    table.add({report.words(i == 0 ? kUnmasked : kMasked), fixed_number(shares[i].together, 4),
               fixed_number(shares[i].each, 4)});
    report.values()["pads"].push_back({{"masked", i == 1},
                                       {"weight_on_pads", shares[i].together},
                                       {"weight_on_each_pad", shares[i].each}});
  }
  report.table(table);
  draw_pads(unmasked, masked, batch, report);
  report.paragraph(kPadsText);
  claim_findings(shares, spread_of_pad_rows(unmasked, batch.lengths[1]), report);
}

}  // namespace

void run_shapes(const Settings& settings, Report& report) {
  const NoGrad no_grad;
  report.paragraph(kIntroduction);
  const PaddedBatch batch = pad_sequences(sequences(), 0);
  show_batch(batch, report);
  const RandomStream random{settings.seed, 0};
  const Embedding embedding({.count = kVocabulary, .width = kModelWidth}, random.fork(0));
  const LinearOptions square{.inputs = kModelWidth, .outputs = kModelWidth};
  Linear w_q(square, random.fork(1));
  Linear w_k(square, random.fork(2));
  Linear w_v(square, random.fork(3));
  const Linear w_0(square, random.fork(4));
  std::vector<Step> steps{{"batch", "B, L", batch.tokens}};
  const Tensor embedded = embedding.forward(batch.tokens);
  steps.push_back({"embedding(batch)", "B, L, d_model", embedded});
  const Heads heads = split_into_heads(embedded, {&w_q, &w_k, &w_v}, steps);
  const Tensor weights = attend(heads, w_0, steps);
  show_steps(steps, report);
  const Tensor hidden =
      reshape(batch.padding_mask, {batch.tokens.size(0), 1, 1, batch.tokens.size(1)});
  const Tensor masked =
      scaled_dot_product_attention(heads.query, heads.key, heads.value, {.mask = hidden}).weights;
  show_pads(weights, masked, batch, report);
}

}  // namespace headlight::cli::lab
