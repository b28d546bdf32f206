#include "course/training.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/share.h"
#include "cli/terminal/progress.h"
#include "course/lab.h"
#include "course/report/pictures.h"
#include "headlight/autograd/autograd.h"
#include "headlight/datasets/batches/training_batch.h"
#include "headlight/tensor/random.h"
#include "headlight/train/trainer.h"
#include "show/plot/chart.h"

namespace headlight::cli::lab {
namespace {

constexpr Index kHeldOut = 128;  // sequences
constexpr Index kSample = 8;

std::vector<std::int32_t> sequence(const RandomStream& random) {
  std::vector<std::int32_t> tokens;
  for (std::uint64_t t = 0; t < kFree; ++t) {
    tokens.push_back(static_cast<std::int32_t>(random.below(t, kTaskTokens)));
  }
  while (static_cast<Index>(tokens.size()) < kTaskLength) {
    unsigned token = 0;
    for (std::size_t bit = 0; bit < std::size(kDistances); ++bit) {
      const auto source = static_cast<Index>(tokens.size()) - kDistances[bit];
      token |= static_cast<unsigned>(tokens[static_cast<std::size_t>(source)]) & (1U << bit);
    }
    tokens.push_back(static_cast<std::int32_t>(token));
  }
  return tokens;
}

std::vector<std::vector<std::int32_t>> sequences(Index count, const RandomStream& random) {
  std::vector<std::vector<std::int32_t>> result;
  for (Index i = 0; i < count; ++i) {
    result.push_back(sequence(random.fork(static_cast<std::uint64_t>(i))));
  }
  return result;
}

// Batch of held-out sequences. Targets that cannot be predicted (random tokens, end) are ignored.
// Position t predicts token t, because <|endoftext|> comes first.
Batch held_out_batch(const TokenDataset& dataset) {
  Batch batch = training_batch(token_ids(dataset));
  std::int32_t* targets = batch.targets.data<std::int32_t>();
  const std::int32_t* positions = batch.positions.data<std::int32_t>();
  for (Index i = 0; i < batch.token_count(); ++i) {
    if (positions[i] < kFree || positions[i] >= kTaskLength) {
      targets[i] = kIgnoreTarget;
      --batch.target_count;
    }
  }
  return batch;
}

// Loss on the held-out sequences, in nats a token.
double held_out_loss(const Gpt& model, const CopyTask& task) {
  const NoGrad no_grad;
  return model.loss(task.held_out).item();
}

// Trains while `continues` is true for the curve so far, which has a value every `stride` steps.
Curve train_while(Gpt& model, const CopyTask& task, const TrainConfig& config, Index stride,
                  bool (*continues)(const Curve& curve)) {
  Trainer trainer(config, model, task.training);
  Curve curve{.updates = {0}, .loss = {held_out_loss(model, task)}};
  const auto progress = progress_bar("training");
  try {
    trainer.fit([&](const StepMetrics& metrics) {
      const Index done = metrics.iteration + 1;
      progress(share_of(done, config.max_iters));
      if (done % stride != 0 && done != config.max_iters) {
        return true;
      }
      curve.updates.push_back(static_cast<double>(done));
      curve.loss.push_back(held_out_loss(model, task));
      return continues(curve);
    });
  } catch (const Error&) {  // the trainer throws if the loss is not finite
    curve.diverged = true;
  }
  return curve;
}

}  // namespace

CopyTask make_copy_task(Index sequences_to_learn, std::uint64_t seed) {
  constexpr std::int32_t kEnd = kTaskTokens;
  const RandomStream random{seed, 0};
  CopyTask task;
  task.training = document_dataset(sequences(sequences_to_learn, random.fork(0)), kEnd);
  std::vector<std::vector<std::int32_t>> held_out = sequences(kHeldOut, random.fork(1));
  task.held_out = held_out_batch(document_dataset(held_out, kEnd));
  held_out.resize(kSample);
  task.sample = token_ids(document_dataset(held_out, kEnd));
  return task;
}

TrainConfig lab_training(const Settings& settings, Index iterations, double learning_rate,
                         Index layers, Index heads) {
  TrainConfig config;
  config.gpt.n_layer = layers;
  config.gpt.n_head = heads;
  config.gpt.n_embd = kTaskWidth;
  config.batching = "padded";
  config.batch_size = 16;
  config.gpt.block_size = kTaskLength + 1;
  config.gpt.bias = true;
  config.learning_rate = learning_rate;
  config.lr_schedule = "constant";
  config.warmup_iters = 0;
  config.weight_decay = 0;
  config.beta2 = 0.99;
  config.max_iters = iterations;
  config.seed = static_cast<Index>(settings.seed);
  return config;
}

std::unique_ptr<Gpt> make_model(const TrainConfig& config) {
  return std::make_unique<Gpt>(config.model(kTaskVocabulary),
                               static_cast<std::uint64_t>(config.seed));
}

double Curve::at(double step) const {
  const auto after = std::ranges::upper_bound(updates, step);
  return loss[static_cast<std::size_t>(after - updates.begin()) - 1];
}

bool is_settled(const Curve& curve) {
  const double early = curve.updates.back() - 2500;
  double before = std::numeric_limits<double>::infinity();
  double lowest = before;
  for (std::size_t i = 0; i < curve.loss.size(); ++i) {
    lowest = std::min(lowest, curve.loss[i]);
    before = curve.updates[i] <= early ? lowest : before;
  }
  return curve.last() < 0.005 || (early > 0 && lowest > 0.98 * before);
}

Curve train(Gpt& model, const CopyTask& task, const TrainConfig& config, Index points) {
  const Index stride = std::max<Index>(1, config.max_iters / points);
  return train_while(model, task, config, stride, [](const Curve&) { return true; });
}

Curve train_until_converged(Gpt& model, const CopyTask& task, const TrainConfig& config) {
  return train_while(model, task, config, 50,
                     [](const Curve& curve) { return !is_settled(curve); });
}

PlotSeries series_of(const std::string& name, const Curve& curve) {
  return {.name = name, .x = curve.updates, .y = curve.loss};
}

std::string loss_charts(const std::vector<std::pair<std::string, Curve>>& titled) {
  ChartOptions options{.width = 25, .height = 6, .low = 0, .high = 0};
  for (const auto& [title, curve] : titled) {
    options.high = std::max(options.high, std::ranges::max(curve.loss));
  }
  return side_by_side(transformed(titled, [&](const auto& chart) {
    return std::pair(chart.first, line_chart(chart.second.loss, options));
  }));
}

void declare_training(Options& options) {
  declare_length(options)
      .value("iters", "Train for this number of steps; 0: the experiment's own number", "0")
      .alias("max_iters", "iters");
}

}  // namespace headlight::cli::lab
