#include "cli/lab/training.h"

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/train/trainer.h"

namespace headlight::cli::lab {

TrainConfig lab_training(const Settings& settings, Index iterations, double learning_rate) {
  TrainConfig config;
  config.batching = "padded";
  config.batch_size = 16;
  config.block_size = kTaskLength + 1;
  config.bias = true;
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

double held_out_loss(const Gpt& model, const CopyTask& task) {
  const NoGrad no_grad;
  return model.loss(task.held_out).item();
}

Curve train(Gpt& model, const CopyTask& task, const TrainConfig& config, Index points) {
  Trainer trainer(config, model, task.training);
  Curve curve{.updates = {0}, .loss = {held_out_loss(model, task)}};
  const Index stride = std::max<Index>(1, config.max_iters / points);
  try {
    for (Index i = 1; i <= config.max_iters; ++i) {
      trainer.step();
      if (i % stride == 0 || i == config.max_iters) {
        curve.updates.push_back(static_cast<double>(i));
        curve.loss.push_back(held_out_loss(model, task));
      }
    }
  } catch (const Error&) {  // the trainer's, about a loss that is not finite
    curve.diverged = true;
  }
  return curve;
}

PlotSeries series_of(const std::string& name, const Curve& curve) {
  return {.name = name, .x = curve.updates, .y = curve.loss};
}

}  // namespace headlight::cli::lab
