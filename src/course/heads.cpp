#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "course/lab.h"
#include "course/lookup_task.h"
#include "course/report/pictures.h"
#include "course/training.h"
#include "headlight/interpret/redundancy.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kWidestSweep = 512;    // C; keeps trainings short
constexpr Index kGuidelineWidth = 32;  // least d_k of the guideline
constexpr Index kCopySteps = 600;
constexpr Index kLookupSteps = 400;

struct SweepPoint {
  Index heads = 0;
  Index head_width = 0;
  Index parameters = 0;
  double loss = 0;      // mean over starts
  double distance = 0;  // mean over starts; NaN for a single head
  std::vector<double> losses = {};
  std::vector<double> distances = {};

  Json json() const {
    return {
        {"heads", heads},           {"head_width", head_width},
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

struct Outcome {
  std::unique_ptr<Gpt> model;
  double loss = 0;
};

// A task with its trainings, all of one width.
struct Sweep {
  const char* name;  // of its values, section and figure
  TrainingLength training = {};
  Index width = 0;
  Index starts = 0;
  std::vector<Index> heads = {};
  std::function<Outcome(Index heads, std::uint64_t start)> train = {};
  std::vector<std::vector<std::int32_t>> sample = {};  // sequences for the distance of heads
};

// Trains from several initial weights. Computes the means.
SweepPoint train_with(Index heads, const Sweep& sweep) {
  SweepPoint point{.heads = heads, .head_width = sweep.width / heads};
  for (Index start = 0; start < sweep.starts; ++start) {
    const Outcome outcome = sweep.train(heads, static_cast<std::uint64_t>(start));
    point.parameters = outcome.model->parameter_count();
    point.losses.push_back(outcome.loss);
    point.distances.push_back(mean_distance(*outcome.model, sweep.sample));
    point.loss += point.losses.back() / static_cast<double>(sweep.starts);
    point.distance += point.distances.back() / static_cast<double>(sweep.starts);
  }
  return point;
}

void show_sweep(const Sweep& sweep, const std::vector<SweepPoint>& points, Report& report) {
  Json rows = Json::array();
  std::vector<Bar> losses;
  PlotSeries loss{.name = report.entry("loss.svg", "mean")};
  PlotSeries distance;
  for (const SweepPoint& point : points) {
    Json row = point.json();
    report.values()[sweep.name].push_back(row);
    row["lowest"] = std::ranges::min(point.losses);
    row["highest"] = std::ranges::max(point.losses);
    row["is_guideline"] = point.head_width >= kGuidelineWidth;
    rows.push_back(row);
    losses.push_back(
        {report.entry("words", "heads") + " " + std::to_string(point.heads), point.loss});
    loss.x.push_back(std::log2(static_cast<double>(point.heads)));
    loss.y.push_back(point.loss);
    distance.y.push_back(point.distance);
  }
  distance.x = loss.x;
  std::vector<PlotSeries> curves;
  for (std::size_t start = 0; start < points.front().losses.size(); ++start) {
    curves.push_back({.x = loss.x, .faint = true});
    for (const SweepPoint& point : points) {
      curves.back().y.push_back(point.losses[start]);
    }
  }
  curves.push_back(loss);
  report.section(sweep.name, {{"sweep", rows}, {"bars", bars(losses, 4)}});
  const std::string task = report.entry("words", sweep.name);
  const Json shown{{"width", sweep.width}, {"task", task}};
  draw_curves({.file = concat_text(sweep.name, "_loss.svg"),
               .series = curves,
               .points = true,
               .words = "loss.svg",
               .shown = shown},
              report);
  if (points.size() > 1 || points.front().heads > 1) {
    draw_curves({.file = concat_text(sweep.name, "_distance.svg"),
                 .series = {distance},
                 .points = true,
                 .words = "distance.svg",
                 .shown = shown},
                report);
  }
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

const SweepPoint& best_of(std::span<const SweepPoint> points) {
  return *std::ranges::min_element(points, {}, &SweepPoint::loss);
}

// Compares each end of the sweep with the best of the others, never with itself.
void claim_ends(const Sweep& sweep, const std::vector<SweepPoint>& points, Report& report) {
  const bool is_lookup = sweep.name == std::string_view("lookup");
  const SweepPoint& fewest = points.front();
  const SweepPoint& above = best_of(std::span(points).subspan(1));
  const Count few = count_starts(fewest.losses, above.losses, is_worse);
  report.claim(concat_text(sweep.name, "_too_few_heads"), sweep.training, few.is_most(),
               {{"fewest", fewest.json()},
                {"best", above.json()},
                {"clear", few.text()},
                {"is_lookup", is_lookup}},
               "too_few_heads");
  const SweepPoint& most = points.back();
  const SweepPoint& below = best_of(std::span(points).first(points.size() - 1));
  const Count many = count_starts(most.losses, below.losses, is_worse);
  report.claim(concat_text(sweep.name, "_too_many_heads"), sweep.training, many.is_most(),
               {{"most", most.json()},
                {"best", below.json()},
                {"clear", many.text()},
                {"is_lookup", is_lookup}},
               "too_many_heads");
}

// Claim of the copy task about repetition.
void claim_repetition(const Sweep& sweep, const std::vector<SweepPoint>& points, Report& report) {
  const auto several =
      std::ranges::find_if(points, [](const SweepPoint& one) { return one.heads >= 4; });
  if (several == points.end() || several->heads == points.back().heads) {
    return;
  }
  const SweepPoint& most = points.back();
  const Count alike = count_starts(most.distances, several->distances, is_closer);
  report.claim("many_heads_repeat", sweep.training, alike.is_most(),
               {{"most", most.json()}, {"several", several->json()}, {"closer", alike.text()}});
}

// Claim of the look-up task about the guideline, if it has heads within it and outside.
void claim_guideline(const Sweep& sweep, const std::vector<SweepPoint>& points, Report& report) {
  const auto follows = [](const SweepPoint& point) { return point.head_width >= kGuidelineWidth; };
  const auto within = std::ranges::count_if(points, follows);
  if (within > 0 && within < std::ssize(points)) {
    const SweepPoint& best = best_of(points);
    report.claim("guideline_width_is_best", sweep.training, follows(best), {{"best", best.json()}});
  }
}

std::vector<SweepPoint> run_sweep(const Sweep& sweep, Report& report) {
  std::vector<SweepPoint> points;
  for (const Index heads : sweep.heads) {
    points.push_back(train_with(heads, sweep));
  }
  show_sweep(sweep, points, report);
  return points;
}

Sweep copy_sweep(const Sweep& common, const CopyTask& task, Index steps, const Settings& settings) {
  Sweep sweep = common;
  sweep.name = "copy";
  sweep.training = {steps, kCopySteps};
  sweep.sample = task.sample;
  sweep.train = [&settings, &task, steps, width = common.width](Index heads, std::uint64_t start) {
    TrainConfig config = lab_training(settings, steps, 3e-3, 1, heads);
    config.gpt.n_embd = width;
    config.seed += static_cast<Index>(start);
    Outcome outcome{make_model(config)};
    outcome.loss = train(*outcome.model, task, config, 1).last();
    return outcome;
  };
  return sweep;
}

Sweep lookup_sweep(const Sweep& common, const LookupTask& task, Index steps,
                   const Settings& settings) {
  Sweep sweep = common;
  sweep.name = "lookup";
  sweep.training = {steps, kLookupSteps};
  sweep.sample = task.sample();
  sweep.train = [&settings, &task, steps, width = common.width](Index heads, std::uint64_t start) {
    Outcome outcome{task.make_model(width, heads, settings.seed + start)};
    outcome.loss = task.train(*outcome.model, steps, settings.seed + start);
    return outcome;
  };
  return sweep;
}

// Numbers of heads to compare, rising: --heads, else powers of two that divide the width.
std::vector<Index> heads_to_compare(const Options& options, Index width) {
  std::vector<Index> heads = options.integers("heads");
  if (!options.given("heads")) {
    std::erase_if(heads, [&](Index one) { return width % one != 0; });
  }
  std::ranges::sort(heads);
  heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
  for (const Index one : heads) {
    require(one >= 1 && width % one == 0, "--heads: expected divisors of the width ", width,
            ", got ", one);
  }
  require(heads.size() > 1, "--heads: expected at least two numbers of heads to compare, got ",
          heads.size());
  return heads;
}

}  // namespace

void declare_heads(Options& options) {
  declare_training(options);
  declare_layer(options, "64", "1,2,4,8,16,32,64");
}

void run_heads(const Settings& settings, Report& report) {
  const Index width = count_option(settings.options, "width", 2, kWidestSweep);
  const Sweep common{.name = "",
                     .width = width,
                     .starts = settings.full ? 5 : 3,
                     .heads = heads_to_compare(settings.options, width)};
  const Index copy_steps = settings.updates(kCopySteps, 2000);
  const Index lookup_steps = settings.updates(kLookupSteps, 1500);
  report.values() = {{"width", width},
                     {"starts", common.starts},
                     {"copy_steps", copy_steps},
                     {"lookup_steps", lookup_steps}};
  report.section("introduction", {{"facts", kFacts}, {"reads", kReads}, {"questions", kQuestions}});
  const LookupTask lookup_task(settings.seed);
  const Sweep lookup = lookup_sweep(common, lookup_task, lookup_steps, settings);
  const std::vector<SweepPoint> lookup_points = run_sweep(lookup, report);
  const CopyTask copy_task = make_copy_task(4096, settings.seed);
  const Sweep copy = copy_sweep(common, copy_task, copy_steps, settings);
  const std::vector<SweepPoint> copy_points = run_sweep(copy, report);
  report.section("known_models");
  claim_ends(lookup, lookup_points, report);
  claim_ends(copy, copy_points, report);
  claim_repetition(copy, copy_points, report);
  claim_guideline(lookup, lookup_points, report);
}

}  // namespace headlight::cli::lab
