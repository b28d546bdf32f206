#pragma once

#include <memory>
#include <optional>

#include "headlight/nn/language_model.h"
#include "headlight/optim/optimizer.h"
#include "headlight/train/train_config.h"

namespace headlight {

// Returns the optimizer that the settings choose. `parts`: with several processes, the elements of
// this process.
std::unique_ptr<Optimizer> make_optimizer(const TrainConfig& config, const LanguageModel& model,
                                          const std::optional<TensorParts>& parts);

}  // namespace headlight
