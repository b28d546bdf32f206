#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/strings/split.h"
#include "course/lab.h"
#include "course/report/pictures.h"
#include "course/training.h"
#include "headlight/autograd/autograd.h"
#include "headlight/interpret/effects/importance.h"
#include "headlight/interpret/interventions/interventions.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/softmax.h"
#include "show/report/parts/table.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kHeads = 8;
constexpr std::size_t kBits = 4;
constexpr Index kMostSteps = 6000;    // of a training that does not settle
constexpr Index kFewestSteps = 1500;  // for verdicts about trainings that did not settle
constexpr Index kMostStarts = 20;

// Predictions on the held-out sequences.
struct Quality {
  double loss = 0;
  std::array<double, kBits> bits{};        // share of correct predictions of each bit
  std::vector<double> probabilities = {};  // [M, kTaskVocabulary] of the M targets
  std::vector<double> errors = {};         // [M] 1 - probability of the target
};

// Returns the targets of the held-out sequences, [M], and their rows in the batch.
std::vector<std::pair<Index, std::int32_t>> targets_of(const Batch& batch) {
  std::vector<std::pair<Index, std::int32_t>> targets;
  for (Index i = 0; i < batch.token_count(); ++i) {
    const std::int32_t target = batch.targets.data<std::int32_t>()[i];
    if (target != kIgnoreTarget) {
      targets.emplace_back(i, target);
    }
  }
  return targets;
}

// Computes loss, bits and errors of the probabilities.
Quality judge(std::vector<double> probabilities, const CopyTask& task) {
  Quality result{.probabilities = std::move(probabilities)};
  const auto targets = targets_of(task.held_out);
  const double share = 1.0 / static_cast<double>(targets.size());
  auto row = result.probabilities.begin();
  for (const auto& [position, target] : targets) {
    const double likely = *(row + target);
    result.errors.push_back(1 - likely);
    result.loss -= share * std::log(std::max(likely, 1e-300));
    const auto guess = static_cast<std::int32_t>(std::max_element(row, row + kTaskTokens) - row);
    for (std::size_t bit = 0; bit < kBits; ++bit) {
      result.bits[bit] += ((guess ^ target) >> bit & 1) == 0 ? share : 0;
    }
    row += kTaskVocabulary;
  }
  return result;
}

Quality quality(const Gpt& model, const CopyTask& task, ForwardHook* hook) {
  const NoGrad no_grad;
  const std::vector<double> all =
      softmax(convert(model.logits(task.held_out, {.hook = hook}), DType::float64)).to_vector();
  std::vector<double> probabilities;
  for (const auto& [position, target] : targets_of(task.held_out)) {
    const auto row = all.begin() + position * kTaskVocabulary;
    probabilities.insert(probabilities.end(), row, row + kTaskVocabulary);
  }
  return judge(std::move(probabilities), task);
}

// Pearson correlation; 0 if one of them is constant.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  const double found = headlight::correlation(a, mean(a), b, mean(b));
  return std::isfinite(found) ? found : 0;
}

struct Trained {
  Index heads = 0;
  Index parameters = 0;
  Curve curve = {};
  Quality whole = {};
  std::vector<Quality> without = {};  // for each silenced head
  std::vector<Quality> alone = {};    // for each head, all others silenced
  Quality mean = {};                  // mean of the probabilities of `alone`
  double error_correlation = 0;       // mean over the pairs of `alone`
};

// Compares the model with its heads as an ensemble of predictors.
void measure_ensemble(Trained& model, const CopyTask& task) {
  std::vector<double> mean(model.whole.probabilities.size(), 0.0);
  for (std::size_t head = 0; head < model.alone.size(); ++head) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += model.alone[head].probabilities[i] / static_cast<double>(model.alone.size());
    }
    for (std::size_t other = 0; other < head; ++other) {
      model.error_correlation += correlation(model.alone[head].errors, model.alone[other].errors) *
                                 2 /
                                 static_cast<double>(model.alone.size() * (model.alone.size() - 1));
    }
  }
  model.mean = judge(std::move(mean), task);
}

// Changes that silence one head, or all others.
std::string silenced(Index heads, Index head, bool others) {
  std::vector<std::string> names;
  for (Index one = 0; one < heads; ++one) {
    if ((one == head) != others) {
      names.push_back(concat_text("0.", one));
    }
  }
  return "off " + joined(names, ",");
}

Trained train_one(Index heads, const Settings& settings, std::uint64_t start,
                  const CopyTask& task) {
  TrainConfig config =
      lab_training(settings, settings.updates(kMostSteps, 3 * kMostSteps), 3e-3, 1, heads);
  config.seed += static_cast<Index>(start);
  const std::unique_ptr<Gpt> model = make_model(config);
  Trained result{.heads = heads, .parameters = model->parameter_count()};
  result.curve = settings.iterations > 0 ? train(*model, task, config)
                                         : train_until_converged(*model, task, config);
  const auto changed = [&](Index head, bool others) {
    Interventions off(*model, parse_changes(silenced(heads, head, others)), {});
    return quality(*model, task, &off);
  };
  result.whole = quality(*model, task, nullptr);
  for (Index head = 0; head < heads; ++head) {
    result.without.push_back(changed(head, false));
    if (heads > 1) {
      result.alone.push_back(changed(head, true));
    }
  }
  if (heads > 1) {
    measure_ensemble(result, task);
  }
  return result;
}

// One head and many heads from the same seed.
using Pair = std::array<Trained, 2>;

bool is_clear(double one, double many) { return many < 0.8 * one; }

std::string name_of(const Trained& trained, const Report& report) {
  return report.entry("words", trained.heads == 1 ? "one" : "many", {{"heads", trained.heads}});
}

Json range_of(const std::vector<double>& values) {
  return {{"mean",
           std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size())},
          {"low", std::ranges::min(values)},
          {"high", std::ranges::max(values)}};
}

// Losses of all pairs after `step` steps, and in how many pairs many heads are clearly better.
Json losses_at(const std::vector<Pair>& pairs, double step) {
  std::array<std::vector<double>, 2> losses;
  Index held = 0;
  for (const auto& [one, many] : pairs) {
    losses[0].push_back(one.curve.at(step));
    losses[1].push_back(many.curve.at(step));
    held += is_clear(losses[0].back(), losses[1].back()) ? 1 : 0;
  }
  return {{"step", step},
          {"one", range_of(losses[0])},
          {"many", range_of(losses[1])},
          {"held", held},
          {"starts", pairs.size()}};
}

double longest(const std::vector<Pair>& pairs) {
  double steps = 0;
  for (const Pair& pair : pairs) {
    for (const Trained& trained : pair) {
      steps = std::max(steps, trained.curve.updates.back());
    }
  }
  return steps;
}

// Shows the losses of all starts at some steps and at the end, the last row.
void show_pairs(const std::vector<Pair>& pairs, Report& report) {
  const double last = longest(pairs);
  Json rows = Json::array();
  for (const double step : {250.0, 500.0, 1000.0, 2000.0, 4000.0}) {
    if (step < last) {
      rows.push_back(losses_at(pairs, step));
    }
  }
  rows.push_back(losses_at(pairs, last));
  report.values()["by_step"] = rows;
  report.section("starts", {{"rows", rows}});
}

void show_both(const std::vector<Pair>& pairs, Report& report) {
  std::vector<PlotSeries> series;
  std::vector<std::pair<std::string, Curve>> charts;
  for (std::size_t kind = 0; kind < 2; ++kind) {
    const Trained& first = pairs.front()[kind];
    const std::string name = name_of(first, report);
    charts.emplace_back(name + ": " + fixed_number(first.curve.last(), 4), first.curve);
    for (const Pair& pair : pairs) {
      PlotSeries curve = series_of(&pair == &pairs.front() ? name : "", pair[kind].curve);
      curve.colour = static_cast<int>(kind);
      series.push_back(std::move(curve));
    }
  }
  report.section("training", {{"charts", loss_charts(charts)}});
  draw_curves({.file = "training.svg", .series = series}, report);
}

Json json_of(const Quality& quality) { return {{"loss", quality.loss}, {"bits", quality.bits}}; }

Json json_of(const Trained& trained) {
  Json json{{"heads", trained.heads},           {"parameters", trained.parameters},
            {"loss", trained.whole.loss},       {"bits", trained.whole.bits},
            {"updates", trained.curve.updates}, {"curve", trained.curve.loss}};
  const auto list = [](const std::vector<Quality>& all) {
    return Json(transformed(all, [](const Quality& one) { return json_of(one); }));
  };
  json["ablated"] = list(trained.without);
  json["alone"] = list(trained.alone);
  json["mean_of_heads"] = json_of(trained.mean);
  json["error_correlation"] = trained.error_correlation;
  return json;
}

void show_ablation(const Pair& models, Report& report) {
  Json rows = Json::array();
  const auto add = [&](const std::string& model, const std::string& without, const Quality& quality,
                       const Quality& whole) {
    Json row = json_of(quality);
    row.update({{"model", model}, {"without", without}, {"rise", quality.loss - whole.loss}});
    rows.push_back(row);
  };
  for (const Trained& trained : models) {
    add(name_of(trained, report), report.entry("words", "nothing"), trained.whole, trained.whole);
    for (std::size_t head = 0; head < trained.without.size(); ++head) {
      add("", concat_text("0.", head), trained.without[head], trained.whole);
    }
  }
  report.section("ablation", {{"rows", rows}});
}

void draw_bits(const Trained& many, Report& report) {
  MatrixPlot plot{.columns = {"0", "1", "2", "3"}, .limit = 50};
  for (std::size_t head = 0; head < many.without.size(); ++head) {
    plot.rows.push_back(concat_text("0.", head));
    for (std::size_t bit = 0; bit < kBits; ++bit) {
      plot.values.push_back(100 * (many.whole.bits[bit] - many.without[head].bits[bit]));
    }
  }
  draw_matrix("ablation.svg", plot, report);
}

void show_ensemble(const Trained& many, Report& report) {
  Json rows = Json::array();
  const auto add = [&](const std::string& predictor, const Quality& quality) {
    Json row = json_of(quality);
    row["predictor"] = predictor;
    rows.push_back(row);
  };
  for (std::size_t head = 0; head < many.alone.size(); ++head) {
    add(report.entry("words", "alone", {{"head", concat_text("0.", head)}}), many.alone[head]);
  }
  add(report.entry("words", "mean"), many.mean);
  add(report.entry("words", "whole"), many.whole);
  report.section("ensemble", {{"rows", rows}, {"correlation", many.error_correlation}});
}

double mean_bits(const Quality& quality) {
  double sum = 0;
  for (const double share : quality.bits) {
    sum += 100 * share / static_cast<double>(kBits);
  }
  return sum;
}

double best_alone(const Trained& many) {
  return std::ranges::min_element(many.alone, {}, &Quality::loss)->loss;
}

// Length of the shortest training that stopped before its loss settled; else of any.
TrainingLength length_of(const std::vector<Pair>& pairs) {
  Index fewest = kMostSteps;
  for (const Pair& pair : pairs) {
    for (const Trained& trained : pair) {
      const Index steps = static_cast<Index>(trained.curve.updates.back());
      fewest = is_settled(trained.curve) ? fewest : std::min(fewest, steps);
    }
  }
  return {fewest, kFewestSteps};
}

// Claims that `shows` is true for most starts; `shown` has the means over the starts.
void claim_most(const std::string& id, const std::vector<Pair>& pairs,
                const std::function<bool(const Trained& one, const Trained& many)>& shows,
                Json shown, Report& report) {
  const auto held =
      std::ranges::count_if(pairs, [&](const Pair& pair) { return shows(pair[0], pair[1]); });
  shown.update({{"held", held}, {"starts", pairs.size()}, {"heads", kHeads}});
  report.claim(id, length_of(pairs), 2 * held > std::ssize(pairs), shown);
}

Json mean_over(const std::vector<Pair>& pairs,
               const std::function<double(const Trained& one, const Trained& many)>& value) {
  return range_of(transformed(pairs, [&](const Pair& p) { return value(p[0], p[1]); }));
}

void comparison_findings(const std::vector<Pair>& pairs, Report& report) {
  const Trained& first = pairs.front()[0];
  const Trained& second = pairs.front()[1];
  report.claim("equal_parameters", first.parameters == second.parameters,
               {{"one", first.parameters}, {"many", second.parameters}});
  claim_most(
      "many_heads_learn_more", pairs,
      [](const Trained& one, const Trained& many) {
        return is_clear(one.curve.last(), many.curve.last());
      },
      losses_at(pairs, longest(pairs)), report);
  const Json early = losses_at(pairs, 500);
  if (longest(pairs) > 500) {
    report.claim("short_training_shows_less", early["held"].integer() < std::ssize(pairs), early);
  }
  const auto left = [](const Trained& model) {
    return mean_bits(*std::ranges::min_element(model.without, {}, mean_bits));
  };
  claim_most(
      "a_lost_head_is_survived", pairs,
      [&](const Trained& one, const Trained& many) { return left(many) - left(one) > 5; },
      {{"many_left", mean_over(pairs, [&](const Trained&, const Trained& m) { return left(m); })},
       {"one_left", mean_over(pairs, [&](const Trained& o, const Trained&) { return left(o); })}},
      report);
  const auto unharmed = [](const Trained&, const Trained& many) {
    return static_cast<double>(std::ranges::count_if(many.without, [&](const Quality& quality) {
      return mean_bits(many.whole) - mean_bits(quality) < 1;
    }));
  };
  claim_most(
      "other_heads_compensate", pairs,
      [&](const Trained& one, const Trained& many) { return unharmed(one, many) > 0; },
      {{"unharmed", mean_over(pairs, unharmed)}}, report);
}

// Whether the heads work as an ensemble: does the mean of their predictions beat the best one, and
// does the whole model beat the mean?
void claim_ensemble(const std::vector<Pair>& pairs, Report& report) {
  const Json shown{
      {"best", mean_over(pairs, [](const Trained&, const Trained& m) { return best_alone(m); })},
      {"mean", mean_over(pairs, [](const Trained&, const Trained& m) { return m.mean.loss; })},
      {"whole", mean_over(pairs, [](const Trained&, const Trained& m) { return m.whole.loss; })},
      {"correlation",
       mean_over(pairs, [](const Trained&, const Trained& m) { return m.error_correlation; })}};
  report.values()["ensemble"] = shown;
  claim_most(
      "mean_beats_best_head", pairs,
      [](const Trained&, const Trained& many) { return many.mean.loss < best_alone(many); }, shown,
      report);
  claim_most(
      "whole_beats_mean", pairs,
      [](const Trained&, const Trained& many) { return many.whole.loss < many.mean.loss; }, shown,
      report);
}

}  // namespace

void declare_single_vs_multi(Options& options) {
  declare_training(options);
  options.value("starts", "Train this number of pairs of models, each from its own seed", "5");
}

void run_single_vs_multi(const Settings& settings, Report& report) {
  const Index starts = count_option(settings.options, "starts", 1, kMostStarts);
  const CopyTask task = make_copy_task(4096, settings.seed);
  std::vector<Pair> pairs;
  for (std::uint64_t start = 0; start < static_cast<std::uint64_t>(starts); ++start) {
    pairs.push_back(
        Pair{train_one(1, settings, start, task), train_one(kHeads, settings, start, task)});
  }
  report.section("introduction", {{"fixed", settings.iterations > 0},
                                  {"starts", starts},
                                  {"most", settings.updates(kMostSteps, 3 * kMostSteps)},
                                  {"heads", kHeads},
                                  {"parameters", pairs.front()[0].parameters}});
  show_both(pairs, report);
  show_pairs(pairs, report);
  show_ablation(pairs.front(), report);
  for (const Pair& pair : pairs) {
    report.values()["pairs"].push_back({{"one", json_of(pair[0])}, {"many", json_of(pair[1])}});
  }
  draw_bits(pairs.front()[1], report);
  show_ensemble(pairs.front()[1], report);
  comparison_findings(pairs, report);
  claim_ensemble(pairs, report);
}

}  // namespace headlight::cli::lab
