#include <algorithm>
#include <array>

#include "cli/lab/lab.h"
#include "cli/lab/pictures.h"
#include "cli/lab/training.h"
#include "headlight/autograd/autograd.h"
#include "headlight/heads/interventions/interventions.h"
#include "views/report/table.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kHeads = 8;
constexpr std::size_t kBits = 4;

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
  const TrainConfig config = lab_training(settings, iterations, 3e-3, 1, heads);
  const std::unique_ptr<Gpt> model = make_model(config);
  Trained result{.heads = heads, .parameters = model->parameter_count()};
  result.curve = train(*model, task, config);
  result.whole = quality(*model, task, nullptr);
  for (Index head = 0; head < heads; ++head) {
    Interventions off(*model, parse_changes(concat_text("off 0.", head)), {});
    result.without.push_back(quality(*model, task, &off));
  }
  return result;
}

std::string name_of(const Trained& trained, const Report& report) {
  return report.entry("words", trained.heads == 1 ? "one" : "many", {{"heads", trained.heads}});
}

void show_training(const std::array<Trained, 2>& models, Report& report) {
  std::vector<PlotSeries> series;
  std::vector<std::pair<std::string, Curve>> charts;
  for (const Trained& trained : models) {
    const std::string name = name_of(trained, report);
    series.push_back(series_of(name, trained.curve));
    charts.emplace_back(name + ": " + fixed_number(trained.curve.last(), 4), trained.curve);
  }
  report.section("training", {{"charts", loss_charts(charts)}});
  draw_curves({.file = "training.svg", .series = series}, report);
}

Json json_of(const Quality& quality) { return {{"loss", quality.loss}, {"bits", quality.bits}}; }

Json json_of(const Trained& trained) {
  Json json{{"heads", trained.heads},           {"parameters", trained.parameters},
            {"loss", trained.whole.loss},       {"bits", trained.whole.bits},
            {"updates", trained.curve.updates}, {"curve", trained.curve.loss}};
  json["ablated"] = transformed(trained.without, [](const Quality& one) { return json_of(one); });
  return json;
}

void show_ablation(const std::array<Trained, 2>& models, Report& report) {
  Json rows = Json::array();
  const auto add = [&](const std::string& model, const std::string& without, const Quality& quality,
                       const Quality& whole) {
    Json row = json_of(quality);
    row.update({{"model", model}, {"without", without}, {"rise", quality.loss - whole.loss}});
    rows.push_back(row);
  };
  for (const Trained& trained : models) {
    report.values()["models"].push_back(json_of(trained));
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

double mean_bits(const Quality& quality) {
  double sum = 0;
  for (const double share : quality.bits) {
    sum += 100 * share / static_cast<double>(kBits);
  }
  return sum;
}

void claim_findings(const Trained& one, const Trained& many, Report& report) {
  const Json both{{"one", json_of(one)}, {"many", json_of(many)}};
  report.claim("equal_parameters", one.parameters == many.parameters, both);
  report.claim("many_heads_learn_more", many.whole.loss < 0.8 * one.whole.loss, both);
  const double many_left = mean_bits(*std::ranges::min_element(many.without, {}, mean_bits));
  const double one_left = mean_bits(one.without[0]);
  report.claim("a_lost_head_is_survived", many_left - one_left > 5,
               {{"many_left", many_left}, {"one_left", one_left}, {"heads", many.heads}});
  const auto unharmed = std::ranges::count_if(many.without, [&](const Quality& quality) {
    return mean_bits(many.whole) - mean_bits(quality) < 1;
  });
  report.claim("other_heads_compensate", unharmed > 0,
               {{"unharmed", unharmed}, {"heads", many.heads}});
}

}  // namespace

void run_single_vs_multi(const Settings& settings, Report& report) {
  const Index iterations = settings.updates(1000, 4000);
  const CopyTask task = make_copy_task(4096, settings.seed);
  const std::array<Trained, 2> models{train_with(1, iterations, settings, task),
                                      train_with(kHeads, iterations, settings, task)};
  report.section(
      "introduction",
      {{"iterations", iterations}, {"heads", kHeads}, {"parameters", models[0].parameters}});
  show_training(models, report);
  show_ablation(models, report);
  draw_bits(models[1], report);
  claim_findings(models[0], models[1], report);
}

}  // namespace headlight::cli::lab
