#include <algorithm>
#include <array>
#include <cmath>

#include "base/json.h"
#include "cli/lab/pictures.h"
#include "cli/lab/report.h"
#include "cli/lab/training.h"
#include "headlight/autograd/autograd.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/ops/elementwise.h"
#include "headlight/views/plot/matrix_plot.h"
#include "views/plot/chart.h"
#include "views/report/numbers.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kWidth = 64;
constexpr Index kHeads = 8;
constexpr std::size_t kBits = 4;

constexpr Text kIntroduction{
    "The task of 'headlight lab heads': every number has four bits, and each bit is copied from "
    "another place: 2, 3, 4 and 5 places back. Two models of one layer and width 64 learn it for "
    "{0} updates from the same data, with 1 head and with {1}; both have {2} parameters.",
    "과제는 'headlight lab heads'와 같다. 수마다 비트(bit)가 네 개이고, 비트마다 2, 3, 4, 5자리 "
    "앞에서 "
    "베껴 온다. 층이 하나이고 차원이 64인 두 모델을 같은 자료로 {0}번 업데이트한다. 하나는 "
    "헤드(head)가 1개, 다른 "
    "하나는 {1}개이며 파라미터(parameter)는 둘 다 {2}개이다."};
constexpr Text kTraining{"Held-out loss while training",
                         "학습하는 동안의 손실(학습에 쓰지 않은 시퀀스)"};
constexpr Text kOne{"1 head", "헤드 1개"};
constexpr Text kMany{"{0} heads", "헤드 {0}개"};
constexpr Text kAblation{"One head fails", "헤드 하나가 고장 나면"};
constexpr Text kAblationText{
    "The output of one head at a time becomes 0. The right columns tell how many of the bits the "
    "model still predicts, in percent; 50 is guessing.",
    "헤드의 출력을 한 번에 하나씩 0으로 만든다. 오른쪽 열은 모델이 비트를 얼마나 맞히는지(%)이며, "
    "50이면 찍는 "
    "것과 같다."};
constexpr Text kLost{"without", "없앤 헤드"};
constexpr Text kNothing{"(nothing)", "(없음)"};
constexpr Text kModel{"model", "모델"};
constexpr Text kLoss{"loss", "손실"};
constexpr Text kRise{"rise", "상승"};
constexpr Text kDistances{"Columns 0 to 3 are the bits, which come from 2, 3, 4 and 5 places back.",
                          "열 0~3은 차례로 2, 3, 4, 5자리 앞에서 오는 비트이다."};
constexpr Text kSummary{
    "Why: with one head there is one row of attention weights, and everything that is taken from "
    "the four places arrives as one weighted sum; only different weights keep the bits apart. With "
    "several heads each can look at one place and pass on its bit through a subspace of its own. "
    "A row of the ablation table with one low column is a head that is a specialist for that bit; "
    "a row like the first one is a head that the others make up for.",
    "까닭: 헤드가 하나면 어텐션 가중치도 한 벌뿐이라, 네 자리에서 가져온 것이 모두 하나의 "
    "가중합으로 섞여 "
    "들어온다. 가중치의 크기가 달라야만 비트를 구별할 수 있다. 헤드가 여럿이면 저마다 한 자리를 "
    "보고 그 비트를 "
    "자기만의 부분 공간(subspace)으로 넘길 수 있다. 표에서 한 열만 낮은 행은 그 비트를 전담하는 "
    "헤드이고, 첫 "
    "행과 비슷한 행은 다른 헤드들이 메워 주는 헤드이다."};

// Sets the output of one head to 0.
class SilentHead final : public ForwardHook {
 public:
  explicit SilentHead(Index head) : head_(head) {}

  bool wants(Point point, Index) const override { return point == Point::z; }
  Tensor visit(const Place&, const Tensor& z) override {
    Tensor kept = Tensor::ones({z.size(1), 1}, z.dtype());
    kept.strided_view({1}, {1}, head_).fill(0);
    return z * kept;
  }

 private:
  Index head_;
};

struct Quality {
  double loss = 0;
  std::array<double, kBits> bits{};  // share of correct predictions of each bit
};

std::int32_t most_likely(const float* logits) {
  return static_cast<std::int32_t>(std::max_element(logits, logits + kTaskTokens) - logits);
}

Quality quality(const Gpt& model, const CopyTask& task, ForwardHook* hook) {
  const NoGrad no_grad;
  const Batch& batch = task.held_out;
  Quality result{.loss = model.loss(batch, {.hook = hook}).item()};
  const Tensor logits = model.logits(batch, {.hook = hook});
  const std::int32_t* targets = batch.targets.data<std::int32_t>();
  for (Index i = 0; i < batch.token_count(); ++i) {
    if (targets[i] == kIgnoreTarget) {
      continue;
    }
    const std::int32_t guess = most_likely(logits.data<float>() + i * kTaskVocabulary);
    for (std::size_t bit = 0; bit < kBits; ++bit) {
      const bool right = ((guess ^ targets[i]) >> bit & 1) == 0;
      result.bits[bit] += right ? 1.0 / static_cast<double>(batch.target_count) : 0;
    }
  }
  return result;
}

struct Trained {
  Index heads = 0;
  Index parameters = 0;
  Curve curve = {};
  Quality whole = {};
  std::vector<Quality> without = {};  // for each silenced head
};

Trained train_with(Index heads, Index iterations, const Settings& settings, const CopyTask& task) {
  TrainConfig config = lab_training(settings, iterations, 3e-3);
  config.n_layer = 1;
  config.n_embd = kWidth;
  config.n_head = heads;
  const std::unique_ptr<Gpt> model = make_model(config);
  Trained result{.heads = heads, .parameters = model->parameter_count()};
  result.curve = train(*model, task, config);
  result.whole = quality(*model, task, nullptr);
  for (Index head = 0; head < heads; ++head) {
    SilentHead hook(head);
    result.without.push_back(quality(*model, task, &hook));
  }
  return result;
}

std::string name_of(const Trained& trained, const Report& report) {
  return report.words(trained.heads == 1 ? kOne : kMany, {std::to_string(trained.heads)});
}

void show_training(const std::array<Trained, 2>& models, Report& report) {
  report.heading(kTraining);
  double high = 0;
  std::vector<PlotSeries> series;
  for (const Trained& trained : models) {
    high = std::max(high, *std::max_element(trained.curve.loss.begin(), trained.curve.loss.end()));
    series.push_back(series_of(name_of(trained, report), trained.curve));
  }
  std::vector<std::string> titles;
  std::vector<std::string> charts;
  for (const Trained& trained : models) {
    titles.push_back(name_of(trained, report) + ": " + fixed_number(trained.curve.last(), 4));
    charts.push_back(
        line_chart(trained.curve.loss, {.width = 25, .height = 6, .low = 0, .high = high}));
  }
  report.block(side_by_side(titles, charts));
  draw_curves("training.svg",
              {.title = report.words({"One head against many, equal parameters",
                                      "파라미터 수가 같은 헤드 하나와 여럿"}),
               .x_label = kUpdate,
               .y_label = kHeldOutLoss,
               .series = series},
              report);
}

void add_row(const std::string& model, const std::string& lost, const Quality& quality, double rise,
             Table& table) {
  std::vector<std::string> cells{model, lost, fixed_number(quality.loss, 3),
                                 signed_number(rise, 3)};
  for (const double share : quality.bits) {
    cells.push_back(fixed_number(100 * share, 0));
  }
  table.add(cells);
}

Json json_of(const Trained& trained) {
  Json json{{"heads", trained.heads},           {"parameters", trained.parameters},
            {"loss", trained.whole.loss},       {"bits", trained.whole.bits},
            {"updates", trained.curve.updates}, {"curve", trained.curve.loss}};
  for (const Quality& quality : trained.without) {
    json["ablated"].push_back({{"loss", quality.loss}, {"bits", quality.bits}});
  }
  return json;
}

void show_ablation(const std::array<Trained, 2>& models, Report& report) {
  report.heading(kAblation);
  report.paragraph(kAblationText);
  Table table({{report.words(kModel), true},
               {report.words(kLost), true},
               {report.words(kLoss)},
               {report.words(kRise)},
               {"0"},
               {"1"},
               {"2"},
               {"3"}});
  for (const Trained& trained : models) {
    add_row(name_of(trained, report), report.words(kNothing), trained.whole, 0, table);
    for (std::size_t head = 0; head < trained.without.size(); ++head) {
      add_row("", concat_text("0.", head), trained.without[head],
              trained.without[head].loss - trained.whole.loss, table);
    }
    report.values()["models"].push_back(json_of(trained));
  }
  report.table(table);
  report.paragraph(kDistances);
  report.paragraph(kSummary);
}

void draw_bits(const Trained& many, Report& report) {
  MatrixPlot plot{.title = report.words({"Bits that break without a head, in percent",
                                         "헤드 하나가 없을 때 틀리게 되는 비트, %"}),
                  .row_title = report.words({"head", "헤드"}),
                  .column_title = report.words({"bit", "비트"}),
                  .columns = {"0", "1", "2", "3"},
                  .limit = 50};
  for (std::size_t head = 0; head < many.without.size(); ++head) {
    plot.rows.push_back(concat_text("0.", head));
    for (std::size_t bit = 0; bit < kBits; ++bit) {
      plot.values.push_back(100 * (many.whole.bits[bit] - many.without[head].bits[bit]));
    }
  }
  report.figure("ablation.svg", matrix_plot_svg(plot));
}

double mean_bits(const Quality& quality) {
  double sum = 0;
  for (const double share : quality.bits) {
    sum += 100 * share / static_cast<double>(kBits);
  }
  return sum;
}

void claim_learning(const Trained& one, const Trained& many, Report& report) {
  const auto number = [](double value) { return fixed_number(value, 3); };
  report.claim(
      {"equal_parameters",
       one.parameters == many.parameters,
       {"Both models have {0} parameters.", "두 모델 모두 파라미터가 {0}개이다."},
       {"The models have {0} and {1} parameters.", "두 모델의 파라미터는 {0}개와 {1}개이다."}},
      {grouped(one.parameters), grouped(many.parameters)});
  report.claim({"many_heads_learn_more",
                many.whole.loss < 0.8 * one.whole.loss,
                {"With equal parameters {2} heads reach a loss of {1}, one head {0}.",
                 "파라미터 수가 같아도 헤드 {2}개는 손실 {1}에, 한 개는 {0}에 이른다."},
                {"With equal parameters {2} heads reach a loss of {1} and one head {0}: no clear "
                 "advantage in this run.",
                 "파라미터 수가 같을 때 헤드 {2}개의 손실은 {1}, 한 개는 {0}이며, 이번 실행에서는 "
                 "뚜렷한 이득이 "
                 "없다."}},
               {number(one.whole.loss), number(many.whole.loss), std::to_string(many.heads)});
}

void claim_robustness(const Trained& one, const Trained& many, Report& report) {
  const auto percent = [](double value) { return fixed_number(value, 1); };
  const Quality& worst = *std::min_element(
      many.without.begin(), many.without.end(),
      [](const Quality& a, const Quality& b) { return mean_bits(a) < mean_bits(b); });
  const double left = mean_bits(worst) - mean_bits(one.without[0]);
  report.claim(
      {"a_lost_head_is_survived",
       left > 5,
       {"Without its most important head the model with {2} still predicts {0} % of the "
        "bits; without its only head the other one {1} %.",
        "헤드 {2}개인 모델은 가장 중요한 헤드를 잃어도 비트의 {0}%를 맞히지만, 하나뿐인 헤드를 "
        "잃은 모델은 "
        "{1}%만 맞힌다."},
       {"Without one head the model with {2} predicts {0} % of the bits, the other one "
        "without its only head {1} %: nothing is saved.",
        "헤드 하나를 잃으면 헤드 {2}개인 모델은 비트의 {0}%, 하나뿐인 모델은 {1}%를 맞혀 별 차이가 "
        "없다."}},
      {percent(mean_bits(worst)), percent(mean_bits(one.without[0])), std::to_string(many.heads)});
  const auto unharmed = std::count_if(
      many.without.begin(), many.without.end(),
      [&](const Quality& quality) { return mean_bits(many.whole) - mean_bits(quality) < 1; });
  report.claim(
      {"other_heads_compensate",
       unharmed > 0,
       {"Compensation: {0} of {1} heads can go at a cost of less than one bit in a "
        "hundred.",
        "보완: 헤드 {1}개 가운데 {0}개는 없애도 손해가 비트 100개당 1개에 못 미친다."},
       {"Compensation: none of the {1} heads can go without harm. They divide the work; "
        "the rest of it survives, but nobody takes over what was lost.",
        "보완: 헤드 {1}개 가운데 없애도 괜찮은 것이 없다. 헤드들은 일을 나눠 맡는다. 나머지 일은 "
        "살아남지만, 잃어버린 몫을 대신 맡는 헤드는 없다."}},
      {std::to_string(unharmed), std::to_string(many.heads)});
}

}  // namespace

void run_single_vs_multi(const Settings& settings, Report& report) {
  const Index iterations = settings.updates(1000, 4000);
  const CopyTask task = make_copy_task(4096, settings.seed);
  const std::array<Trained, 2> models{train_with(1, iterations, settings, task),
                                      train_with(kHeads, iterations, settings, task)};
  report.paragraph(kIntroduction, {std::to_string(iterations), std::to_string(kHeads),
                                   grouped(models[0].parameters)});
  show_training(models, report);
  show_ablation(models, report);
  draw_bits(models[1], report);
  claim_learning(models[0], models[1], report);
  claim_robustness(models[0], models[1], report);
}

}  // namespace headlight::cli::lab
