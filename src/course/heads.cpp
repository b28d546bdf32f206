#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "course/lab.h"
#include "course/report/pictures.h"
#include "course/training.h"
#include "headlight/autograd/autograd.h"
#include "headlight/interpret/redundancy.h"
#include "headlight/nn/batch.h"
#include "headlight/nn/gpt.h"
#include "headlight/optim/adamw.h"
#include "headlight/optim/clip.h"
#include "headlight/tensor/random.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kFacts = 32;                    // K, numbers to look up
constexpr Index kReads = 2;                     // bits of a number, each read at its own position
constexpr Index kQuestions = 16;                // of a sequence
constexpr Index kNumbers = Index{1} << kReads;  // tokens of numbers; questions follow
constexpr Index kHeldOutSequences = 64;
constexpr Index kShown = 8;
constexpr Index kBatch = 16;
constexpr double kRate = 3e-3;
constexpr float kSpread = 10;  // factor of the embeddings at the start

std::vector<std::size_t> permutation(const RandomStream& random) {
  std::vector<std::size_t> order(kFacts);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[static_cast<std::size_t>(random.below(left, left))]);
  }
  return order;
}

// Task in which every head must match a query with one of K keys. A sequence has K random numbers
// of kReads bits, then questions. A question is one of K tokens; each asks for kReads positions,
// fixed and random. Bit r of the answer is bit r of the number at the r-th position. A head of
// width D distinguishes about D keys well, so the task needs wide heads, and one for each position.
class LookupTask {
 public:
  explicit LookupTask(std::uint64_t seed) {
    const RandomStream random{seed, 0};
    for (std::uint64_t read = 0; read < kReads; ++read) {
      positions_.push_back(permutation(random.fork(0).fork(read)));
    }
    held_out_ = batch(kHeldOutSequences, random.fork(1));
  }

  // Makes a model of one layer of attention without an MLP. The embeddings start with a standard
  // deviation of 0.2: with GPT-2's 0.02 the training spends most steps on a plateau.
  std::unique_ptr<Gpt> make_model(Index width, Index heads, std::uint64_t seed) const {
    auto model = std::make_unique<Gpt>(GptConfig{.vocab_size = kNumbers + kFacts,
                                                 .block_size = kFacts + kQuestions,
                                                 .n_layer = 1,
                                                 .n_head = heads,
                                                 .n_embd = width,
                                                 .mlp = false},
                                       seed);
    for (const Part part : {Part::token_embedding, Part::position_embedding}) {
      Tensor embedding = model->weight(part);
      for (float& element :
           std::span(embedding.data<float>(), static_cast<std::size_t>(embedding.numel()))) {
        element *= kSpread;
      }
    }
    return model;
  }

  // Trains with AdamW on new sequences in every step. Returns the loss on held-out sequences, in
  // nats per answer.
  double train(Gpt& model, Index steps, std::uint64_t seed) const {
    const NamedTensors parameters = model.parameters();
    AdamW adamw(parameters, {.beta2 = 0.99, .weight_decay = 0});
    const RandomStream random{seed, 1};
    for (Index step = 0; step < steps; ++step) {
      model.zero_grad();
      backward(model.loss(batch(kBatch, random.fork(static_cast<std::uint64_t>(step)))));
      adamw.step(kRate, clip_scale(gradient_norm(parameters), 1.0));
    }
    const NoGrad no_grad;
    return model.loss(held_out_).item();
  }

  // Held-out sequences for the analysis of heads.
  std::vector<std::vector<std::int32_t>> sample() const {
    const std::int32_t* tokens = held_out_.tokens.data<std::int32_t>();
    std::vector<std::vector<std::int32_t>> sequences;
    for (std::size_t s = 0; s < kShown; ++s) {
      sequences.emplace_back(tokens + held_out_.offsets[s], tokens + held_out_.offsets[s + 1]);
    }
    return sequences;
  }

 private:
  // Makes `count` sequences; targets are the answers.
  Batch batch(Index count, const RandomStream& random) const {
    std::vector<std::vector<std::int32_t>> sequences;
    std::vector<std::int32_t> targets;  // [N]
    for (Index s = 0; s < count; ++s) {
      const RandomStream draws = random.fork(static_cast<std::uint64_t>(s));
      std::vector<std::int32_t> tokens;
      for (std::uint64_t fact = 0; fact < kFacts; ++fact) {
        tokens.push_back(static_cast<std::int32_t>(draws.below(fact, kNumbers)));
        targets.push_back(kIgnoreTarget);
      }
      for (std::uint64_t i = 0; i < kQuestions; ++i) {
        const auto question = static_cast<std::size_t>(draws.below(kFacts + i, kFacts));
        std::int32_t answer = 0;
        for (std::size_t read = 0; read < kReads; ++read) {
          answer |= tokens[positions_[read][question]] & (1 << read);
        }
        tokens.push_back(static_cast<std::int32_t>(kNumbers + static_cast<Index>(question)));
        targets.push_back(answer);
      }
      sequences.push_back(std::move(tokens));
    }
    Batch result = make_batch(sequences);
    std::ranges::copy(targets, result.targets.data<std::int32_t>());
    result.target_count = count * kQuestions;
    return result;
  }

  std::vector<std::vector<std::size_t>> positions_;  // [kReads, K] position of each question
  Batch held_out_;
};

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
