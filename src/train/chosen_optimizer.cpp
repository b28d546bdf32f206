#include "train/chosen_optimizer.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "headlight/nn/trained_parts.h"
#include "headlight/optim/adamw.h"
#include "headlight/optim/muon_with_adamw.h"
#include "headlight/optim/sgd.h"

namespace headlight {
namespace {

// Returns the factor of the learning rate of each parameter, by its name: 1 after the last layer,
// and layer_decay times as much for each layer before it (K. Clark et al., "ELECTRA", ICLR 2020).
std::function<double(const std::string&)> rates_of(const TrainConfig& config,
                                                   const NamedTensors& parameters) {
  if (config.layer_decay == 1) {
    return {};
  }
  Index layers = 0;
  for (const auto& parameter : parameters) {
    layers = std::max(layers, layer_of(parameter.first).value_or(-1) + 1);
  }
  return [layers, decay = config.layer_decay](const std::string& name) {
    const bool is_embedding = name.starts_with("wte") || name.starts_with("wpe");
    const Index after = is_embedding ? layers + 1 : layers - layer_of(name).value_or(layers);
    return std::pow(decay, static_cast<double>(after));
  };
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const TrainConfig& config, const LanguageModel& model,
                                          const std::optional<TensorParts>& parts) {
  const double momentum = config.resolved().momentum;
  const auto kind = parse_name<OptimizerKind>("optimizer", config.optimizer);
  if (kind == OptimizerKind::sgd) {
    return std::make_unique<Sgd>(
        model.trainable_parameters(),
        SgdOptions{.momentum = momentum, .weight_decay = config.weight_decay}, parts);
  }
  const AdamWOptions adamw{.beta1 = config.beta1,
                           .beta2 = config.beta2,
                           .epsilon = config.adam_epsilon,
                           .weight_decay = config.weight_decay,
                           .rate_of = rates_of(config, model.parameters())};
  if (kind == OptimizerKind::adamw) {
    return std::make_unique<AdamW>(model.trainable_parameters(), adamw, parts);
  }
  const MuonOptions muon{
      .momentum = momentum,
      .weight_decay = config.weight_decay,
      .adjust_lr_fn = parse_name<LearningRateAdjustment>("adjust_lr_fn", config.adjust_lr_fn),
      .newton_schulz = {.steps = config.ns_steps}};
  return std::make_unique<MuonWithAdamW>(model, muon, adamw, parts);
}

}  // namespace headlight
