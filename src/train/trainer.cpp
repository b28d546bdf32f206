#include "headlight/train/trainer.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/optim/adamw.h"
#include "headlight/optim/clip.h"
#include "headlight/optim/sgd.h"

namespace headlight {
namespace {

// Tells how long each phase took.
class PhaseClock {
 public:
  // Seconds since the last call, or since the beginning.
  double lap() {
    const Clock::time_point now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

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
      precision_(parse_precision(config.dtype)),
      batcher_(dataset, config.batcher()),
      optimizer_(make_optimizer(config, parameters_)),
      iteration_(first_iteration) {
  optimizer_->set_step_count(first_iteration);
}

StepMetrics Trainer::step() {
  PhaseClock clock;
  const Index pieces = config_.gradient_accumulation_steps;
  std::vector<Batch> batches;
  StepMetrics metrics{.iteration = iteration_, .learning_rate = schedule_.at(iteration_)};
  for (Index piece = 0; piece < pieces; ++piece) {
    batches.push_back(batcher_.batch(iteration_ * pieces + piece));
    metrics.tokens += batches.back().target_count;
  }
  PhaseSeconds& phases = metrics.phases;
  phases.data = clock.lap();
  model_.zero_grad();
  phases.optimizer = clock.lap();
  const RandomStream random{static_cast<std::uint64_t>(config_.seed), kDropoutStream};
  for (Index piece = 0; piece < pieces; ++piece) {
    const auto number = static_cast<std::uint64_t>(iteration_ * pieces + piece);
    const Tensor loss = model_.loss(
        batches[static_cast<std::size_t>(piece)],
        {.training = true, .random = random.fork(number), .precision = precision_}, metrics.tokens);
    metrics.loss += loss.item();
    phases.forward += clock.lap();
    backward(loss);
    phases.backward += clock.lap();
  }
  metrics.gradient_norm = gradient_norm(parameters_);
  require(std::isfinite(metrics.loss) && std::isfinite(metrics.gradient_norm), "update ",
          iteration_, ": the loss (", metrics.loss, ") or the gradient norm (",
          metrics.gradient_norm, ") is not finite; try a smaller learning_rate");
  optimizer_->step(metrics.learning_rate, clip_scale(metrics.gradient_norm, config_.grad_clip));
  ++iteration_;
  phases.optimizer += clock.lap();
  metrics.seconds = phases.total();
  return metrics;
}

}  // namespace headlight
