#include <algorithm>

#include "cli/lab/pictures.h"
#include "cli/lab/report.h"
#include "headlight/nn/architecture.h"
#include "headlight/nn/causal_self_attention.h"
#include "headlight/nn/gpt_config.h"
#include "headlight/nn/multi_head_attention.h"
#include "views/report/numbers.h"

namespace headlight::cli::lab {
namespace {

constexpr Text kIntroduction{
    "Multi-head attention of width d has four square matrices (W_Q, W_K, W_V, W_O) of d² weights "
    "and four biases of d: 4 d² + 4 d. Every line below builds the layer and counts the elements "
    "of its tensors one by one.",
    "차원이 d인 멀티 헤드 어텐션(multi-head attention)에는 d²개의 가중치를 가진 정사각 행렬이 네 "
    "개(W_Q, "
    "W_K, W_V, W_O), 길이가 d인 편향(bias)이 네 개 있으므로 파라미터(parameter)는 4d² + 4d개이다. "
    "아래의 "
    "각 줄은 실제로 층을 만들어 텐서의 원소를 하나하나 센 결과이다."};
constexpr Text kCounted{"Counted and calculated", "센 값과 계산한 값"};
constexpr Text kWidth{"width d", "차원 d"};
constexpr Text kHeads{"heads", "헤드"};
constexpr Text kHeadWidth{"d_k", "d_k"};
constexpr Text kCountedColumn{"counted", "센 값"};
constexpr Text kFormula{"4 d² + 4 d", "4d² + 4d"};
constexpr Text kSeparate{"W_Q, W_K, W_V apart", "W_Q, W_K, W_V 따로"};
constexpr Text kNoBias{"without biases", "편향 없이"};
constexpr Text kSame{
    "The number of heads does not appear in the formula: heads only divide the same columns among "
    "themselves. One matrix for query, key and value together or three of them makes no difference "
    "either; leaving out the biases takes away 4 d.",
    "식에 헤드(head) 수는 나오지 않는다. 헤드는 같은 열을 나눠 가질 뿐이기 때문이다. 쿼리(query), "
    "키(key), 값(value)을 행렬 하나로 합치든 셋으로 나누든 마찬가지이고, 편향을 빼면 4d개가 "
    "줄어든다."};
constexpr Text kModels{"Attention within whole models", "모델 전체에서 어텐션이 차지하는 몫"};
constexpr Text kModel{"model", "모델"};
constexpr Text kAll{"all parameters", "전체 파라미터"};
constexpr Text kAttention{"attention", "어텐션"};
constexpr Text kShare{"share", "비율"};
constexpr Text kShareText{
    "In each layer the feed-forward part (8 d² + 5 d) is about twice as large as attention.",
    "층마다 피드포워드(feed-forward) 부분(8d² + 5d)이 어텐션의 두 배쯤 된다."};

struct Count {
  Index width;
  Index heads;
  Index counted;
  Index separate;
  Index without_biases;

  Index formula() const { return 4 * width * width + 4 * width; }
};

Index counted(const CausalSelfAttentionOptions& options) {
  return CausalSelfAttention(options).parameter_count();
}

Count count_layer(Index width, Index heads) {
  return {width, heads, counted({.width = width, .heads = heads, .zeros = true}),
          MultiHeadAttention({.width = width, .heads = heads}).parameter_count(),
          counted({.width = width, .heads = heads, .bias = false, .zeros = true})};
}

std::vector<Count> all_counts() {
  std::vector<Count> counts;
  for (const Index heads : {1, 2, 4, 8, 16, 32, 64}) {
    counts.push_back(count_layer(64, heads));
  }
  for (const Index width : {128, 256, 512, 768}) {
    counts.push_back(count_layer(width, width / 64));
  }
  return counts;
}

void show(const std::vector<Count>& counts, Report& report) {
  report.heading(kCounted);
  Table table({{report.words(kWidth)},
               {report.words(kHeads)},
               {report.words(kHeadWidth)},
               {report.words(kCountedColumn)},
               {report.words(kFormula)},
               {report.words(kSeparate)},
               {report.words(kNoBias)}});
  for (const Count& count : counts) {
    table.add({grouped(count.width), grouped(count.heads), grouped(count.width / count.heads),
               grouped(count.counted), grouped(count.formula()), grouped(count.separate),
               grouped(count.without_biases)});
    report.values()["layers"].push_back({{"width", count.width},
                                         {"heads", count.heads},
                                         {"counted", count.counted},
                                         {"formula", count.formula()},
                                         {"separate", count.separate},
                                         {"without_biases", count.without_biases}});
  }
  report.table(table);
  report.paragraph(kSame);
}

void draw(const std::vector<Count>& counts, Report& report) {
  std::vector<Bar> drawn;
  PlotSeries calculated{.name = "4 d² + 4 d", .x = {}, .y = {}};
  PlotSeries measured{.name = report.words({"counted", "센 값"}), .x = {}, .y = {}};
  for (const Count& count : counts) {
    if (count.width / count.heads == 64) {
      measured.x.push_back(static_cast<double>(count.width));
      measured.y.push_back(static_cast<double>(count.counted));
      drawn.push_back({"d = " + std::to_string(count.width), measured.y.back()});
    }
  }
  calculated.x = measured.x;
  for (const double d : calculated.x) {
    calculated.y.push_back(4 * d * d + 4 * d);
  }
  report.block(bars(drawn, 0, 40));
  draw_curves(
      "params.svg",
      {.title = report.words({"Parameters of multi-head attention", "멀티 헤드 어텐션의 파라미터"}),
       .x_label = kWidth,
       .y_label = {"parameters", "파라미터 수"},
       .series = {calculated, measured},
       .points = true},
      report);
}

struct NamedConfig {
  const char* name;
  GptConfig config;
};

void show_models(Report& report) {
  const std::vector<NamedConfig> models{
      {"configs/toy.toml",
       {.vocab_size = 1024, .block_size = 168, .n_layer = 3, .n_head = 4, .n_embd = 128}},
      {"GPT-2", {.vocab_size = 50257}},
      {"GPT-2 XL", {.vocab_size = 50257, .n_layer = 48, .n_head = 25, .n_embd = 1600}}};
  report.heading(kModels);
  Table table({{report.words(kModel), true},
               {report.words(kAll)},
               {report.words(kAttention)},
               {report.words(kShare)}});
  for (const NamedConfig& model : models) {
    const ParameterCounts counts = count_parameters(model.config);
    const double share =
        static_cast<double>(counts.attention) / static_cast<double>(counts.total());
    table.add({model.name, grouped(counts.total()), grouped(counts.attention),
               fixed_number(100 * share, 1) + " %"});
    report.values()["models"].push_back(
        {{"model", model.name}, {"parameters", counts.total()}, {"attention", counts.attention}});
  }
  report.table(table);
  report.paragraph(kShareText);
}

}  // namespace

void run_params(const Settings& /*settings*/, Report& report) {
  report.paragraph(kIntroduction);
  const std::vector<Count> counts = all_counts();
  show(counts, report);
  draw(counts, report);
  show_models(report);
  const bool same = std::all_of(counts.begin(), counts.end(), [](const Count& count) {
    return count.counted == count.formula() && count.separate == count.formula();
  });
  report.claim({"counted_is_formula",
                same,
                {"Counted parameters equal 4 d² + 4 d in all {0} layers, whatever the number of "
                 "heads.",
                 "층 {0}개 모두에서 센 파라미터 수가 4d² + 4d와 같고, 헤드 수와는 상관이 없다."},
                {"In some of {0} layers the count differs from 4 d² + 4 d.",
                 "층 {0}개 가운데 센 값이 4d² + 4d와 다른 것이 있다."}},
               {std::to_string(counts.size())});
}

}  // namespace headlight::cli::lab
