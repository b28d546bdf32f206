#include <cmath>
#include <cstdint>
#include <vector>

#include "course/lab.h"
#include "course/report/pictures.h"
#include "course/training.h"
#include "headlight/autograd/autograd.h"
#include "headlight/nn/gpt.h"
#include "headlight/optim/clip.h"

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
constexpr Index kSteps = 240;

TrainConfig config_of(NormPosition norm, Index iterations, double rate, const Settings& settings) {
  TrainConfig config = lab_training(settings, iterations, rate, kLayers, 4);
  config.gpt.activation = Activation::relu;
  config.gpt.tie_weights = false;
  config.gpt.norm = norm;
  return config;
}

// Makes a model with Xavier's or GPT-2's initial weights.
std::unique_ptr<Gpt> start_model(const TrainConfig& config, bool xavier) {
  std::unique_ptr<Gpt> model = make_model(config);
  if (xavier) {
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
  for (const bool xavier : {true, false}) {
    for (const NormPosition norm : {NormPosition::post, NormPosition::pre}) {
      const std::unique_ptr<Gpt> model = start_model(config_of(norm, 1, 1e-3, settings), xavier);
      all.push_back({std::string(norm == NormPosition::post ? "post-LN" : "pre-LN") +
                         (xavier ? ", Xavier" : ", GPT-2"),
                     layer_gradients(*model, task.held_out)});
    }
  }
  return all;
}

void show_gradients(const std::vector<Gradients>& all, Report& report) {
  std::vector<PlotSeries> series;
  for (const Gradients& gradients : all) {
    series.push_back({.name = gradients.name, .y = gradients.norms});
    report.values()["gradients"].push_back(
        {{"model", gradients.name}, {"norms", gradients.norms}, {"growth", gradients.growth()}});
  }
  Json rows = Json::array();
  std::vector<std::vector<Bar>> drawn(all.size());
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    std::vector<double> norms;
    for (std::size_t i = 0; i < all.size(); ++i) {
      norms.push_back(all[i].norms[layer]);
      series[i].x.push_back(static_cast<double>(layer));
      drawn[i].push_back({std::to_string(layer), norms.back()});
    }
    rows.push_back({{"layer", layer}, {"norms", norms}});
  }
  report.section("gradients", {{"rows", rows},
                               {"bars", side_by_side({{all[0].name, bars(drawn[0], 3, 22)},
                                                      {all[1].name, bars(drawn[1], 3, 22)}})}});
  draw_curves({.file = "gradients.svg", .series = series, .points = true}, report);
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
    return train(*start_model(config, true), task, config);
  };
  return {.rate = rate,
          .post = curve(NormPosition::post, 0),
          .pre = curve(NormPosition::pre, 0),
          .warmed = curve(NormPosition::post, iterations / 3)};
}

// The last losses, for display.
Json last_losses(const Comparison& one) {
  return {{"rate", one.rate},
          {"post", one.post.last()},
          {"pre", one.pre.last()},
          {"warmed", one.warmed.last()}};
}

void show_training(const std::vector<Comparison>& all, Index iterations, Report& report) {
  for (const Comparison& one : all) {
    report.values()["training"].push_back({{"learning_rate", one.rate},
                                           {"updates", one.pre.updates},
                                           {"post", one.post.loss},
                                           {"pre", one.pre.loss},
                                           {"post_with_warmup", one.warmed.loss},
                                           {"post_diverged", one.post.diverged},
                                           {"pre_diverged", one.pre.diverged}});
    draw_curves({.file = concat_text("training_", one.rate, ".svg"),
                 .series = {series_of("post-LN", one.post), series_of("pre-LN", one.pre),
                            series_of(report.entry("training.svg", "warmed"), one.warmed)},
                 .words = "training.svg",
                 .shown = {{"rate", one.rate}}},
                report);
  }
  report.section(
      "training",
      {{"iterations", iterations},
       {"rows", transformed(all, last_losses)},
       {"charts", loss_charts({{"post-LN", all.back().post}, {"pre-LN", all.back().pre}})}});
}

void claim_gradients(const std::vector<Gradients>& all, Report& report) {
  const double post = all[0].growth();
  const double pre = all[1].growth();
  const double small = all[2].growth();
  report.claim("post_ln_gradients_grow", post > 1.1 && post > pre, {{"post", post}, {"pre", pre}});
  report.claim("it_depends_on_the_start", small < post, {{"small", small}});
}

// `careful`: results at the small learning rate. `bold`: results at the large one.
void claim_training(const TrainingLength& training, const Comparison& careful,
                    const Comparison& bold, Report& report) {
  const auto ahead = [](const Curve& a, const Curve& b) { return a.last() < 0.9 * b.last(); };
  report.claim("pre_ln_needs_no_warmup", training, ahead(bold.pre, bold.post), last_losses(bold));
  report.claim("warmup_helps_post_ln", training, ahead(bold.warmed, bold.post), last_losses(bold));
  report.claim("small_rates_spare_post_ln", training, !ahead(careful.pre, careful.post),
               last_losses(careful));
}

}  // namespace

void run_pre_post_ln(const Settings& settings, Report& report) {
  const Index iterations = settings.updates(kSteps, 2000);
  report.section("introduction", {{"layers", kLayers}});
  const CopyTask task = make_copy_task(4096, settings.seed);
  const std::vector<Gradients> gradients = measure_gradients(settings, task);
  show_gradients(gradients, report);
  const std::vector<Comparison> comparisons{compare(3e-4, iterations, settings, task),
                                            compare(3e-3, iterations, settings, task)};
  show_training(comparisons, iterations, report);
  claim_gradients(gradients, report);
  claim_training({iterations, kSteps}, comparisons.front(), comparisons.back(), report);
}

}  // namespace headlight::cli::lab
