#include "headlight/train/trainer.h"

#include <chrono>
#include <cmath>

#include "headlight/autograd/autograd.h"
#include "headlight/optim/adamw.h"
#include "headlight/optim/clip.h"
#include "headlight/optim/sgd.h"

namespace headlight {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kDropoutStream = 2;

std::unique_ptr<Optimizer> make_optimizer(const TrainConfig& config,
                                          const NamedTensors& parameters) {
  if (config.optimizer == "sgd") {
    return std::make_unique<Sgd>(
        parameters, SgdOptions{.momentum = config.momentum, .weight_decay = config.weight_decay});
  }
  return std::make_unique<AdamW>(parameters, AdamWOptions{.beta1 = config.beta1,
                                                          .beta2 = config.beta2,
                                                          .weight_decay = config.weight_decay});
}

}  // namespace

Trainer::Trainer(const TrainConfig& config, Gpt& model, const TokenDataset& dataset,
                 Index first_iteration)
    : config_(config),
      model_(model),
      parameters_(model.parameters()),
      schedule_(config.schedule()),
      batcher_(dataset, config.batcher()),
      optimizer_(make_optimizer(config, parameters_)),
      iteration_(first_iteration) {
  optimizer_->set_step_count(first_iteration);
}

StepMetrics Trainer::step() {
  const auto start = Clock::now();
  const Index pieces = config_.gradient_accumulation_steps;
  std::vector<Batch> batches;
  StepMetrics metrics{.iteration = iteration_, .learning_rate = schedule_.at(iteration_)};
  for (Index piece = 0; piece < pieces; ++piece) {
    batches.push_back(batcher_.batch(iteration_ * pieces + piece));
    metrics.tokens += batches.back().target_count;
  }
  model_.zero_grad();
  const RandomStream random{static_cast<std::uint64_t>(config_.seed), kDropoutStream};
  for (Index piece = 0; piece < pieces; ++piece) {
    const auto number = static_cast<std::uint64_t>(iteration_ * pieces + piece);
    const Tensor loss =
        model_.loss(batches[static_cast<std::size_t>(piece)],
                    {.training = true, .random = random.fork(number)}, metrics.tokens);
    metrics.loss += loss.item();
    backward(loss);
  }
  metrics.gradient_norm = gradient_norm(parameters_);
  require(std::isfinite(metrics.loss) && std::isfinite(metrics.gradient_norm), "update ",
          iteration_, ": the loss (", metrics.loss, ") or the gradient norm (",
          metrics.gradient_norm, ") is not finite; try a smaller learning_rate");
  optimizer_->step(metrics.learning_rate, clip_scale(metrics.gradient_norm, config_.grad_clip));
  ++iteration_;
  metrics.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return metrics;
}

}  // namespace headlight
