#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "cli/lab/pictures.h"
#include "cli/lab/report.h"
#include "cli/lab/training.h"
#include "headlight/heads/redundancy.h"
#include "views/report/numbers.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kWidth = 64;

constexpr Text kTask{
    "The task: sequences of numbers from 0 to 15, each four bits. Bit 0 is copied from the number "
    "2 places back, bit 1 from 3, bit 2 from 4, bit 3 from 5 places back; the first five numbers "
    "are random. To predict the next number, a layer must look at four places and keep apart what "
    "it takes from each. A loss of 0 is perfect, ln 16 = 2.77 is guessing.",
    "과제: 0에서 15까지의 수, 곧 네 비트(bit)로 된 수의 열이다. 비트 0은 두 자리 앞, 비트 1은 세 "
    "자리 앞, "
    "비트 2는 네 자리 앞, 비트 3은 다섯 자리 앞의 수에서 베껴 온다. 처음 다섯 수는 난수이다. "
    "다음 수를 "
    "맞히려면 네 자리를 보되 각 자리에서 가져온 것이 섞이지 않아야 한다. 손실(loss)이 0이면 "
    "완벽하고, "
    "ln 16 = 2.77이면 찍는 것과 같다."};
constexpr Text kIntroduction{
    "One layer of width 64 learns for {0} updates (random starts: {1}); only the number of heads "
    "differs.",
    "차원이 64인 층 하나를 {0}번 업데이트하여 학습한다(초깃값 {1}가지). 헤드(head) 수만 다르다."};
constexpr Text kSweep{"1 to 64 heads of the same width together",
                      "전체 차원은 그대로, 헤드는 1개에서 64개까지"};
constexpr Text kHeads{"heads", "헤드"};
constexpr Text kHeadWidth{"d_k", "d_k"};
constexpr Text kParameters{"parameters", "파라미터"};
constexpr Text kLoss{"loss", "손실"};
constexpr Text kRange{"lowest to highest", "최저~최고"};
constexpr Text kTo{" to ", "~"};
constexpr Text kDistance{"distance", "거리"};
constexpr Text kGuideline{"d_k >= 32", "d_k >= 32"};
constexpr Text kYes{"yes", "예"};
constexpr Text kNo{"no", "아니요"};
constexpr Text kLossChart{"Loss on sequences that were held out:",
                          "학습에 쓰지 않은 시퀀스에서의 손실:"};
constexpr Text kDistanceText{
    "'distance' is the mean Jensen-Shannon distance between what two heads look at: near 0 they "
    "are duplicates of each other, 1 means that they share no key.",
    "'거리'는 두 헤드가 보는 곳의 평균 옌센-섀넌 거리(Jensen-Shannon distance)이다. 0에 가까우면 "
    "서로 "
    "중복이고, 1이면 겹치는 키가 하나도 없다."};
constexpr Text kKnown{"The guideline: known models keep d_k between 32 and 128",
                      "지침: 잘 알려진 모델들은 d_k를 32와 128 사이로 둔다"};
constexpr Text kModel{"model", "모델"};
constexpr Text kGuidelineText{
    "Small models 4 to 8 heads, medium 8 to 12, large 12 to 16 and more; 512 / 8 (d_k = 64) is "
    "called good, 512 / 64 (d_k = 8) bad.",
    "소규모 모델은 4~8개, 중규모는 8~12개, 대규모는 12~16개 이상이 권장된다. 512 / 8(d_k = 64)은 "
    "좋은 예, "
    "512 / 64(d_k = 8)는 나쁜 예로 꼽힌다."};

struct Point {
  Index heads = 0;
  Index parameters = 0;
  double loss = 0;      // mean over starts
  double distance = 0;  // mean over starts
  std::vector<double> losses = {};
  std::vector<double> distances = {};
};

// Mean distance between all pairs of heads: 0 if all do the same, NaN for a single head.
double mean_distance(const Gpt& model, const std::vector<std::vector<std::int32_t>>& sequences) {
  const HeadDistances distances = head_distances(model, sequences);
  const std::size_t heads = distances.heads.size();
  double sum = 0;
  for (const double distance : distances.distance) {
    sum += distance;
  }
  return sum / static_cast<double>(heads * (heads - 1));
}

// Trains from `starts` initial weights. Returns the means.
Point train_with(Index heads, Index iterations, Index starts, const Settings& settings,
                 const CopyTask& task) {
  Point point{.heads = heads};
  for (Index start = 0; start < starts; ++start) {
    TrainConfig config = lab_training(settings, iterations, 3e-3);
    config.n_layer = 1;
    config.n_embd = kWidth;
    config.n_head = heads;
    config.seed += start;
    const std::unique_ptr<Gpt> model = make_model(config);
    const Curve curve = train(*model, task, config, 1);
    point.parameters = model->parameter_count();
    point.losses.push_back(curve.last());
    point.distances.push_back(mean_distance(*model, task.sample));
    point.loss += point.losses.back() / static_cast<double>(starts);
    point.distance += point.distances.back() / static_cast<double>(starts);
  }
  return point;
}

void show_sweep(const std::vector<Point>& points, Report& report) {
  report.heading(kSweep);
  Table table({{report.words(kHeads)},
               {report.words(kHeadWidth)},
               {report.words(kParameters)},
               {report.words(kLoss)},
               {report.words(kRange), true},
               {report.words(kDistance)},
               {report.words(kGuideline), true}});
  std::vector<Bar> losses;
  for (const Point& point : points) {
    const Index d_k = kWidth / point.heads;
    const auto [lowest, highest] = std::minmax_element(point.losses.begin(), point.losses.end());
    table.add({std::to_string(point.heads), std::to_string(d_k), grouped(point.parameters),
               fixed_number(point.loss, 4),
               fixed_number(*lowest, 4) + report.words(kTo) + fixed_number(*highest, 4),
               std::isfinite(point.distance) ? fixed_number(point.distance, 3) : "-",
               report.words(d_k >= 32 ? kYes : kNo)});
    losses.push_back({report.words(kHeads) + " " + std::to_string(point.heads), point.loss});
    report.values()["sweep"].push_back({{"heads", point.heads},
                                        {"head_width", d_k},
                                        {"parameters", point.parameters},
                                        {"loss", point.loss},
                                        {"losses", point.losses},
                                        {"distance", point.distance},
                                        {"distances", point.distances}});
  }
  report.table(table);
  report.paragraph(kDistanceText);
  report.paragraph(kLossChart);
  report.block(bars(losses, 4));
}

void draw(const std::vector<Point>& points, Report& report) {
  PlotSeries loss{.name = "", .x = {}, .y = {}};
  PlotSeries distance{.name = "", .x = {}, .y = {}};
  for (const Point& point : points) {
    const double heads = std::log2(static_cast<double>(point.heads));
    loss.x.push_back(heads);
    loss.y.push_back(point.loss);
    distance.x.push_back(heads);
    distance.y.push_back(point.distance);
  }
  constexpr Text kLogHeads{"log2 of the number of heads", "헤드 수의 log2"};
  draw_curves(
      "loss.svg",
      {.title = report.words({"Loss by number of heads, width 64", "헤드 수에 따른 손실, 차원 64"}),
       .x_label = kLogHeads,
       .y_label = kHeldOutLoss,
       .series = {loss},
       .points = true},
      report);
  draw_curves(
      "distance.svg",
      {.title = report.words({"How different the heads are", "헤드들이 서로 얼마나 다른가"}),
       .x_label = kLogHeads,
       .y_label = {"mean Jensen-Shannon distance", "평균 옌센-섀넌 거리"},
       .series = {distance},
       .points = true},
      report);
}

struct KnownModel {
  const char* name;
  Index width;
  Index heads;
};

void show_known_models(Report& report) {
  report.heading(kKnown);
  Table table({{report.words(kModel), true}, {"d_model"}, {report.words(kHeads)}, {"d_k"}});
  for (const KnownModel& model : {KnownModel{"BERT-base", 768, 12},
                                  {"BERT-large", 1024, 16},
                                  {"GPT-2", 768, 12},
                                  {"GPT-3", 12288, 96}}) {
    table.add({model.name, std::to_string(model.width), std::to_string(model.heads),
               std::to_string(model.width / model.heads)});
  }
  report.table(table);
  report.paragraph(kGuidelineText);
}

// Number of starts that show a finding. It holds if most starts show it: one may be chance.
struct Count {
  Index shown = 0;
  Index starts = 0;

  bool is_most() const { return 2 * shown > starts; }
  std::string text() const { return concat_text(shown, "/", starts); }
};

// Counts the starts at which `worse` ends with a clearly higher loss than `better`.
Count worse_starts(const Point& worse, const Point& better) {
  Count count{.starts = std::ssize(worse.losses)};
  for (std::size_t i = 0; i < worse.losses.size(); ++i) {
    const double loss = better.losses[i];
    count.shown += worse.losses[i] > 1.5 * loss && worse.losses[i] > loss + 0.02 ? 1 : 0;
  }
  return count;
}

Count closer_starts(const Point& closer, const Point& other) {
  Count count{.starts = std::ssize(closer.distances)};
  for (std::size_t i = 0; i < closer.distances.size(); ++i) {
    count.shown += closer.distances[i] < other.distances[i] ? 1 : 0;
  }
  return count;
}

const Point& best_of(std::span<const Point> points) {
  return *std::min_element(points.begin(), points.end(),
                           [](const Point& a, const Point& b) { return a.loss < b.loss; });
}

void claim_extremes(const std::vector<Point>& points, Report& report) {
  const auto number = [](double value) { return fixed_number(value, 3); };
  // Each end of the sweep is compared with the best of the others, never with itself.
  const Point& one = points.front();
  const Point& above = best_of(std::span(points).subspan(1));
  const Count few = worse_starts(one, above);
  report.claim(
      {"too_few_heads",
       few.is_most(),
       {"Too few heads: a single one ends at a loss of {0}, {2} heads at {1} (clear in {3} "
        "starts).",
        "너무 적을 때: 헤드 하나로는 손실이 {0}에서 그치고, {2}개로는 {1}까지 내려간다(초깃값 "
        "{3}에서 "
        "뚜렷함)."},
       {"A single head ends at a loss of {0}, {2} heads at {1}, a clear difference in {3} starts: "
        "this run does not show that too few heads hurt.",
        "헤드 하나의 손실은 {0}, {2}개의 손실은 {1}이며 차이가 뚜렷한 초깃값은 {3}이다. 이번 "
        "실행은 "
        "헤드가 적으면 나쁘다는 것을 보여 주지 않는다."}},
      {number(one.loss), number(above.loss), std::to_string(above.heads), few.text()});
  const Point& most = points.back();
  const Point& below = best_of(std::span(points).first(points.size() - 1));
  const Count many = worse_starts(most, below);
  report.claim(
      {"too_many_heads",
       many.is_most(),
       {"Too many heads: {3} of width {4} end at {0}, worse than {2} ({1}; clear in {5} starts).",
        "너무 많을 때: 차원 {4}짜리 헤드 {3}개(손실 {0})가 {2}개({1})보다 나쁘다(초깃값 {5}에서 "
        "뚜렷함)."},
       {"{3} heads of width {4} end at {0}, {2} heads at {1}, clearly worse in {5} starts: this "
        "run does not show that too many heads hurt.",
        "차원 {4}짜리 헤드 {3}개의 손실은 {0}, {2}개의 손실은 {1}이며 뚜렷이 나쁜 초깃값은 "
        "{5}이다. "
        "이번 실행은 헤드가 많으면 나쁘다는 것을 보여 주지 않는다."}},
      {number(most.loss), number(below.loss), std::to_string(below.heads),
       std::to_string(most.heads), std::to_string(kWidth / most.heads), many.text()});
}

void claim_findings(const std::vector<Point>& points, Report& report) {
  claim_extremes(points, report);
  const Point& most = points.back();
  const Point& four = points[2];
  const Count alike = closer_starts(most, four);
  report.claim(
      {"many_heads_repeat",
       alike.is_most(),
       {"Repeated patterns: {2} heads are more alike (distance {0}) than {3} ({1}), in "
        "{4} starts.",
        "중복된 패턴: 헤드 {2}개는 {3}개({1})보다 서로 더 닮았다(거리 {0}, 초깃값 {4}에서)."},
       {"{2} heads (distance {0}) are more alike than {3} ({1}) in {4} starts only.",
        "헤드 {2}개(거리 {0})가 {3}개({1})보다 더 닮은 초깃값은 {4}뿐이다."}},
      {fixed_number(most.distance, 3), fixed_number(four.distance, 3), std::to_string(most.heads),
       std::to_string(four.heads), alike.text()});
  const Point& best = best_of(points);
  const Index d_k = kWidth / best.heads;
  report.claim(
      {"guideline_width_is_best",
       d_k >= 32,
       {"The best head width is {0}, within the guideline.",
        "가장 좋은 헤드 차원은 {0}이며 지침 안에 있다."},
       {"The best head width here is {0}: a small task on which the guideline (d_k >= 32) "
        "does not hold. It comes from models of hundreds of features.",
        "여기서 가장 좋은 헤드 차원은 {0}이다. 작은 과제에서는 지침(d_k >= 32)이 들어맞지 않는다. "
        "이 지침은 특징이 수백 개인 모델에서 나온 것이다."}},
      {std::to_string(d_k)});
}

}  // namespace

void run_heads(const Settings& settings, Report& report) {
  const Index iterations = settings.updates(600, 2000);
  const Index starts = settings.full ? 5 : 3;
  report.paragraph(kTask);
  report.paragraph(kIntroduction, {std::to_string(iterations), std::to_string(starts)});
  const CopyTask task = make_copy_task(4096, settings.seed);
  std::vector<Point> points;
  for (Index heads = 1; heads <= kWidth; heads *= 2) {
    points.push_back(train_with(heads, iterations, starts, settings, task));
  }
  report.values()["updates"] = iterations;
  report.values()["starts"] = starts;
  show_sweep(points, report);
  draw(points, report);
  show_known_models(report);
  claim_findings(points, report);
}

}  // namespace headlight::cli::lab
