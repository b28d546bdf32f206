#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cli/lab/pictures.h"
#include "cli/lab/report.h"
#include "cli/lab/training.h"
#include "headlight/autograd/autograd.h"
#include "headlight/nn/gpt.h"
#include "headlight/optim/clip.h"
#include "views/plot/chart.h"

namespace headlight::cli::lab {
namespace {

// Sets the initial weights of the first transformers: embeddings of unit size, other matrices
// uniform in +-sqrt(6 / (inputs + outputs)). Query, key and value are separate matrices. Glorot and
// Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.
void start_like_xavier(const Gpt& model, std::uint64_t seed) {
  std::uint64_t stream = 0;
  for (auto [weight, tensor] : model.weights()) {
    if (tensor.rank() != 2) {
      continue;
    }
    const RandomStream random = RandomStream{seed, 7}.fork(++stream);
    if (weight.part == Part::token_embedding || weight.part == Part::position_embedding) {
      tensor.copy_from(random_normal(tensor.shape(), random, 0, std::sqrt(0.5)));
      continue;
    }
    const bool joined = weight.part == Part::query_key_value;
    const Index outputs = tensor.size(0) / (joined ? 3 : 1);
    const double bound = std::sqrt(6.0 / static_cast<double>(outputs + tensor.size(1)));
    tensor.copy_from(random_uniform(tensor.shape(), random, -bound, bound));
  }
}

// Gradient norm of each layer's matrices on a batch, [L].
std::vector<double> layer_gradients(Gpt& model, const Batch& batch) {
  model.zero_grad();
  backward(model.loss(batch, {.training = true}));
  std::vector<double> norms;
  for (Index layer = 0; layer < model.config().n_layer; ++layer) {
    const std::string prefix = concat_text("h.", layer, ".");
    NamedTensors matrices;
    for (const auto& [name, parameter] : model.parameters()) {
      if (name.rfind(prefix, 0) == 0 && parameter.rank() == 2) {
        matrices.emplace_back(name, parameter);
      }
    }
    norms.push_back(gradient_norm(matrices));
  }
  return norms;
}

constexpr Index kLayers = 6;
constexpr Index kWidth = 64;

constexpr Text kIntroduction{
    "Two models of {0} layers, width 64 and 4 heads, equal but for the place of LayerNorm: "
    "post-LN as in the first paper, norm(x + f(x)), and pre-LN as in GPT-2, x + f(norm(x)). Task: "
    "the copied bits of 'headlight lab heads'.",
    "층 {0}개, 차원 64, 헤드 4개인 두 모델을 견준다. LayerNorm의 자리만 다르다. 처음 논문의 "
    "post-LN은 "
    "norm(x + f(x)), GPT-2의 pre-LN은 x + f(norm(x))이다. 과제는 'headlight lab heads'의 비트 "
    "베끼기이다."};
constexpr Text kGradients{"Gradient norm of each layer before the first update",
                          "첫 업데이트 전 층별 기울기 노름(gradient norm)"};
constexpr Text kGradientText{
    "Norm over all weight matrices of a layer, for the same batch. The start matters: Xavier's "
    "(Glorot and Bengio), with which the first transformers began and for which the theory is "
    "(Xiong et al., arXiv 2002.04745), and GPT-2's, whose weights are so small that every layer "
    "begins as little more than its residual path.",
    "같은 배치에 대해 층의 모든 가중치 행렬을 합쳐 잰 노름이다. 초기화(initialization)가 중요하다. "
    "초기의 "
    "트랜스포머가 썼고 이론(Xiong et al., arXiv 2002.04745)이 가정하는 것은 세이비어(Xavier) "
    "초기화이다. "
    "GPT-2의 초기화는 가중치가 아주 작아서 처음에는 각 층이 잔차 경로(residual path)와 거의 같다."};
constexpr Text kLayer{"layer", "층"};
constexpr Text kChart{"Xavier's start; longer bars mean larger gradients:",
                      "세이비어 초기화. 막대가 길수록 기울기가 크다:"};
constexpr Text kTraining{"Training with and without warm-up",
                         "웜업(warm-up)이 있는 학습과 없는 학습"};
constexpr Text kTrainingText{
    "{0} updates with AdamW at a constant learning rate, from the first update on or, with "
    "warm-up, rising to it over the first third; Xavier's start; held-out loss at the end. "
    "ln 16 = 2.77 is guessing.",
    "AdamW로 일정한 학습률(learning rate)에서 {0}번 업데이트한다. 첫 업데이트부터 그 학습률을 "
    "쓰거나, 웜업을 하면 처음 "
    "3분의 1 동안 거기까지 올린다. 세이비어 초기화이며, 값은 학습에 쓰지 않은 시퀀스에서의 마지막 "
    "손실이다. "
    "ln 16 = 2.77이면 찍는 것과 같다."};
constexpr Text kRate{"learning rate", "학습률"};
constexpr Text kWarmed{"post-LN, warm-up", "post-LN, 웜업"};
constexpr Text kCurves{"The curves without warm-up at a learning rate of {0}:",
                       "학습률 {0}에서 웜업 없이 학습한 곡선:"};
constexpr Text kSummary{
    "Why: in post-LN every gradient passes through a LayerNorm behind every addition, so that the "
    "layers near the output get the largest ones; full-size first updates, when AdamW's averages "
    "rest on a few batches only, throw them off, and warm-up keeps those updates small. In pre-LN "
    "an unbroken residual path leads from the loss to every layer.",
    "까닭: post-LN에서는 기울기가 덧셈마다 그 뒤의 LayerNorm을 지나야 하므로 출력에 가까운 "
    "층일수록 기울기가 "
    "크다. AdamW의 이동 평균이 아직 배치 몇 개에만 기대는 초반에 업데이트가 크면 이 층들이 엉뚱한 "
    "곳으로 튄다. "
    "웜업은 그 초반의 업데이트를 작게 해 준다. pre-LN에서는 손실에서 모든 층까지 끊기지 않은 잔차 "
    "경로가 이어진다."};

enum class Start { xavier, gpt2 };

TrainConfig config_of(NormPosition norm, Index iterations, double rate, const Settings& settings) {
  TrainConfig config = lab_training(settings, iterations, rate);
  config.n_layer = kLayers;
  config.n_embd = kWidth;
  config.n_head = 4;
  config.activation = "relu";
  config.tie_weights = false;
  config.norm = name_of(norm);
  return config;
}

std::unique_ptr<Gpt> start_model(const TrainConfig& config, Start start) {
  std::unique_ptr<Gpt> model = make_model(config);
  if (start == Start::xavier) {
    start_like_xavier(*model, static_cast<std::uint64_t>(config.seed));
  }
  return model;
}

struct Gradients {
  std::string name;
  std::vector<double> norms;

  double growth() const { return norms.back() / norms.front(); }
};

std::vector<Gradients> measure_gradients(const Settings& settings, const CopyTask& task) {
  std::vector<Gradients> all;
  for (const Start start : {Start::xavier, Start::gpt2}) {
    for (const NormPosition norm : {NormPosition::post, NormPosition::pre}) {
      const std::unique_ptr<Gpt> model = start_model(config_of(norm, 1, 1e-3, settings), start);
      all.push_back({std::string(norm == NormPosition::post ? "post-LN" : "pre-LN") +
                         (start == Start::xavier ? ", Xavier" : ", GPT-2"),
                     layer_gradients(*model, task.held_out)});
    }
  }
  return all;
}

void show_gradients(const std::vector<Gradients>& all, Report& report) {
  report.heading(kGradients);
  std::vector<Table::Column> columns{{report.words(kLayer)}};
  std::vector<PlotSeries> series;
  for (const Gradients& gradients : all) {
    columns.push_back({gradients.name});
    series.push_back({.name = gradients.name, .x = {}, .y = gradients.norms});
    report.values()["gradients"].push_back(
        {{"model", gradients.name}, {"norms", gradients.norms}, {"growth", gradients.growth()}});
  }
  Table table(columns);
  std::vector<std::vector<Bar>> drawn(2);
  for (std::size_t layer = 0; layer < all[0].norms.size(); ++layer) {
    std::vector<std::string> cells{std::to_string(layer)};
    for (std::size_t i = 0; i < all.size(); ++i) {
      cells.push_back(fixed_number(all[i].norms[layer], 4));
      series[i].x.push_back(static_cast<double>(layer));
    }
    table.add(cells);
    drawn[0].push_back({cells[0], all[0].norms[layer]});
    drawn[1].push_back({cells[0], all[1].norms[layer]});
  }
  report.table(table);
  report.paragraph(kGradientText);
  report.paragraph(kChart);
  report.block(
      side_by_side({all[0].name, all[1].name}, {bars(drawn[0], 3, 22), bars(drawn[1], 3, 22)}));
  draw_curves("gradients.svg",
              {.title = report.words(
                   {"Gradient norm before the first update", "첫 업데이트 전의 기울기 노름"}),
               .x_label = {"layer", "층"},
               .y_label = {"norm of the layer's matrices", "층의 행렬 전체의 노름"},
               .series = series,
               .points = true},
              report);
}

// Results of both models at one learning rate.
struct Comparison {
  double rate = 0;
  Curve post = {};
  Curve pre = {};
  Curve warmed = {};  // post-LN with warm-up
};

Comparison compare(double rate, Index iterations, const Settings& settings, const CopyTask& task) {
  const auto curve = [&](NormPosition norm, Index warmup) {
    TrainConfig config = config_of(norm, iterations, rate, settings);
    config.warmup_iters = warmup;
    return train(*start_model(config, Start::xavier), task, config);
  };
  return {.rate = rate,
          .post = curve(NormPosition::post, 0),
          .pre = curve(NormPosition::pre, 0),
          .warmed = curve(NormPosition::post, iterations / 3)};
}

void draw_figure(const Comparison& comparison, Report& report) {
  const std::string rate = concat_text(comparison.rate);
  draw_curves(
      "training_" + rate + ".svg",
      {.title = report.words({"Learning rate {0}", "학습률 {0}"}, {rate}),
       .x_label = kUpdate,
       .y_label = kHeldOutLoss,
       .series = {series_of("post-LN", comparison.post), series_of("pre-LN", comparison.pre),
                  series_of(report.words({"post-LN, warm-up", "post-LN, 웜업"}),
                            comparison.warmed)}},
      report);
}

void draw_curves(const Comparison& comparison, Report& report) {
  double high = 0;
  for (const Curve* curve : {&comparison.post, &comparison.pre}) {
    high = std::max(high, *std::max_element(curve->loss.begin(), curve->loss.end()));
  }
  const ChartOptions options{.width = 25, .height = 6, .low = 0, .high = high};
  report.block(side_by_side({"post-LN", "pre-LN"}, {line_chart(comparison.post.loss, options),
                                                    line_chart(comparison.pre.loss, options)}));
}

void show_training(const std::vector<Comparison>& all, Report& report) {
  Table table({{report.words(kRate)}, {"post-LN"}, {"pre-LN"}, {report.words(kWarmed)}});
  for (const Comparison& one : all) {
    table.add({concat_text(one.rate), fixed_number(one.post.last(), 3),
               fixed_number(one.pre.last(), 3), fixed_number(one.warmed.last(), 3)});
    report.values()["training"].push_back({{"learning_rate", one.rate},
                                           {"updates", one.pre.updates},
                                           {"post", one.post.loss},
                                           {"pre", one.pre.loss},
                                           {"post_with_warmup", one.warmed.loss},
                                           {"post_diverged", one.post.diverged},
                                           {"pre_diverged", one.pre.diverged}});
    draw_figure(one, report);
  }
  report.table(table);
  report.paragraph(kCurves, {concat_text(all.back().rate)});
  draw_curves(all.back(), report);
}

void claim_gradients(const std::vector<Gradients>& all, Report& report) {
  const auto number = [](double value) { return fixed_number(value, 1); };
  const double post = all[0].growth();
  const double pre = all[1].growth();
  report.claim({"post_ln_gradients_grow",
                post > 1.1 && post > pre,
                {"Xavier's start: from the first layer to the last the gradient grows {0} times "
                 "with post-LN; with pre-LN the factor is {1}.",
                 "세이비어 초기화에서 첫 층에서 마지막 층까지 기울기는 post-LN에서 {0}배가 된다. "
                 "pre-LN에서는 "
                 "{1}배이다."},
                {"Xavier's start: the last layer's gradient is {0} times the first one's with "
                 "post-LN and {1} times with pre-LN; it does not grow towards the output.",
                 "세이비어 초기화에서 마지막 층의 기울기는 첫 층의 {0}배(post-LN), "
                 "{1}배(pre-LN)로, 출력 쪽으로 "
                 "커지지 않는다."}},
               {number(post), number(pre)});
  const double small = all[2].growth();
  report.claim(
      {"it_depends_on_the_start",
       small < post,
       {"With GPT-2's small start the factor of post-LN is only {0}: the effect is one of "
        "the initialisation too.",
        "GPT-2의 작은 초기화에서는 post-LN도 {0}배에 그친다. 초기화도 이 효과의 원인인 셈이다."},
       {"With GPT-2's small start the factor of post-LN is {0}.",
        "GPT-2의 작은 초기화에서 post-LN은 {0}배이다."}},
      {number(small)});
}

// `careful`: results at the small learning rate. `bold`: results at the large one.
void claim_training(const Comparison& careful, const Comparison& bold, Report& report) {
  const auto number = [](double value) { return fixed_number(value, 3); };
  const auto ahead = [](const Curve& a, const Curve& b) { return a.last() < 0.9 * b.last(); };
  report.claim({"pre_ln_needs_no_warmup",
                ahead(bold.pre, bold.post),
                {"Without warm-up at a learning rate of {0} pre-LN ends at {2}, post-LN at {1}.",
                 "웜업 없이 학습률 {0}에서 pre-LN은 손실 {2}에, post-LN은 {1}에 이른다."},
                {"Without warm-up at a learning rate of {0} pre-LN ends at {2}, post-LN at {1}: "
                 "pre-LN is not ahead.",
                 "웜업 없이 학습률 {0}에서 pre-LN의 손실은 {2}, post-LN의 손실은 {1}이며 pre-LN이 "
                 "앞서지 않는다."}},
               {concat_text(bold.rate), number(bold.post.last()), number(bold.pre.last())});
  report.claim({"warmup_helps_post_ln",
                ahead(bold.warmed, bold.post),
                {"Warm-up over the first third brings post-LN at {0} from {1} to {2}.",
                 "처음 3분의 1 동안 웜업을 하면 학습률 {0}의 post-LN이 {1}에서 {2}까지 나아진다."},
                {"Warm-up over the first third does not rescue post-LN at {0}: {1} without, {2} "
                 "with it.",
                 "처음 3분의 1 동안 웜업을 해도 학습률 {0}의 post-LN은 나아지지 않는다: 없이 {1}, "
                 "있으면 {2}."}},
               {concat_text(bold.rate), number(bold.post.last()), number(bold.warmed.last())});
  report.claim(
      {"small_rates_spare_post_ln",
       !ahead(careful.pre, careful.post),
       {"At a small learning rate ({0}) post-LN is close behind even without warm-up: {1} "
        "against {2} with pre-LN.",
        "학습률이 작으면({0}) post-LN도 웜업 없이 바짝 따라온다: post-LN {1}, pre-LN {2}."},
       {"Even at a small learning rate ({0}) post-LN falls behind: {1} against {2} with "
        "pre-LN.",
        "학습률이 작아도({0}) post-LN이 뒤진다: post-LN {1}, pre-LN {2}."}},
      {concat_text(careful.rate), number(careful.post.last()), number(careful.pre.last())});
}

}  // namespace

void run_pre_post_ln(const Settings& settings, Report& report) {
  const Index iterations = settings.updates(240, 2000);
  report.paragraph(kIntroduction, {std::to_string(kLayers)});
  const CopyTask task = make_copy_task(4096, settings.seed);
  const std::vector<Gradients> gradients = measure_gradients(settings, task);
  show_gradients(gradients, report);
  report.heading(kTraining);
  report.paragraph(kTrainingText, {std::to_string(iterations)});
  std::vector<Comparison> comparisons;
  for (const double rate : {3e-4, 3e-3}) {
    comparisons.push_back(compare(rate, iterations, settings, task));
  }
  show_training(comparisons, report);
  report.paragraph(kSummary);
  claim_gradients(gradients, report);
  claim_training(comparisons.front(), comparisons.back(), report);
}

}  // namespace headlight::cli::lab
