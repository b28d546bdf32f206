#include <algorithm>
#include <cmath>
#include <numeric>

#include "cli/lab/lab.h"
#include "cli/lab/pictures.h"
#include "cli/lab/training.h"
#include "headlight/heads/redundancy.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kWidth = kTaskWidth;

struct Point {
  Index heads = 0;
  Index parameters = 0;
  double loss = 0;      // mean over starts
  double distance = 0;  // mean over starts; NaN for a single head
  std::vector<double> losses = {};
  std::vector<double> distances = {};

  Json json() const {
    return {
        {"heads", heads},           {"head_width", kWidth / heads},
        {"parameters", parameters}, {"loss", loss},
        {"losses", losses},         {"distance", std::isfinite(distance) ? Json(distance) : Json()},
        {"distances", distances}};
  }
};

// Mean distance between all pairs of heads: 0 if all do the same, NaN for a single head.
double mean_distance(const Gpt& model, const std::vector<std::vector<std::int32_t>>& sequences) {
  const HeadDistances distances = head_distances(model, sequences);
  const std::size_t heads = distances.heads.size();
  return std::accumulate(distances.distance.begin(), distances.distance.end(), 0.0) /
         static_cast<double>(heads * (heads - 1));
}

// Trains from `starts` initial weights. Returns the means.
Point train_with(Index heads, Index iterations, Index starts, const Settings& settings,
                 const CopyTask& task) {
  Point point{.heads = heads};
  for (Index start = 0; start < starts; ++start) {
    TrainConfig config = lab_training(settings, iterations, 3e-3, 1, heads);
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
  Json rows = Json::array();
  std::vector<Bar> losses;
  PlotSeries loss;
  PlotSeries distance;
  for (const Point& point : points) {
    Json row = point.json();
    report.values()["sweep"].push_back(row);
    row["lowest"] = std::ranges::min(point.losses);
    row["highest"] = std::ranges::max(point.losses);
    row["is_guideline"] = kWidth / point.heads >= 32;
    rows.push_back(row);
    losses.push_back(
        {report.entry("words", "heads") + " " + std::to_string(point.heads), point.loss});
    loss.x.push_back(std::log2(static_cast<double>(point.heads)));
    loss.y.push_back(point.loss);
    distance.y.push_back(point.distance);
  }
  distance.x = loss.x;
  report.section("sweep", {{"sweep", rows}, {"bars", bars(losses, 4)}});
  draw_curves({.file = "loss.svg", .series = {loss}, .points = true}, report);
  draw_curves({.file = "distance.svg", .series = {distance}, .points = true}, report);
}

// Number of starts that show a finding. It holds if most starts show it: one may be chance.
struct Count {
  Index shown = 0;
  Index starts = 0;

  bool is_most() const { return 2 * shown > starts; }
  std::string text() const { return concat_text(shown, "/", starts); }
};

// Counts the starts at which `shows` is true for the values of `a` and `b`.
Count count_starts(const std::vector<double>& a, const std::vector<double>& b,
                   bool (*shows)(double, double)) {
  Count count{.starts = std::ssize(a)};
  for (std::size_t i = 0; i < a.size(); ++i) {
    count.shown += shows(a[i], b[i]) ? 1 : 0;
  }
  return count;
}

// True if the loss `a` is clearly higher than `b`.
bool is_worse(double a, double b) { return a > 1.5 * b && a > b + 0.02; }

bool is_closer(double a, double b) { return a < b; }

const Point& best_of(std::span<const Point> points) {
  return *std::ranges::min_element(points, {}, &Point::loss);
}

void claim_findings(const std::vector<Point>& points, Report& report) {
  // Each end of the sweep is compared with the best of the others, never with itself.
  const Point& one = points.front();
  const Point& above = best_of(std::span(points).subspan(1));
  const Count few = count_starts(one.losses, above.losses, is_worse);
  report.claim("too_few_heads", few.is_most(),
               {{"one", one.json()}, {"best", above.json()}, {"clear", few.text()}});
  const Point& most = points.back();
  const Point& below = best_of(std::span(points).first(points.size() - 1));
  const Count many = count_starts(most.losses, below.losses, is_worse);
  report.claim("too_many_heads", many.is_most(),
               {{"most", most.json()}, {"best", below.json()}, {"clear", many.text()}});
  const Point& four = points[2];
  const Count alike = count_starts(most.distances, four.distances, is_closer);
  report.claim("many_heads_repeat", alike.is_most(),
               {{"most", most.json()}, {"four", four.json()}, {"closer", alike.text()}});
  const Point& best = best_of(points);
  report.claim("guideline_width_is_best", kWidth / best.heads >= 32, {{"best", best.json()}});
}

}  // namespace

void run_heads(const Settings& settings, Report& report) {
  const Index iterations = settings.updates(600, 2000);
  const Index starts = settings.full ? 5 : 3;
  report.values() = {{"updates", iterations}, {"starts", starts}};
  report.section("introduction");
  const CopyTask task = make_copy_task(4096, settings.seed);
  std::vector<Point> points;
  for (Index heads = 1; heads <= kWidth; heads *= 2) {
    points.push_back(train_with(heads, iterations, starts, settings, task));
  }
  show_sweep(points, report);
  report.section("known_models");
  claim_findings(points, report);
}

}  // namespace headlight::cli::lab
