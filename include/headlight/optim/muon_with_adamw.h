#pragma once

#include <optional>

#include "headlight/nn/language_model.h"
#include "headlight/optim/adamw.h"
#include "headlight/optim/muon.h"

namespace headlight {

// Muon for the hidden matrices of a model and AdamW for its other parameters, at the same learning
// rate. State: that of both.
class MuonWithAdamW : public Optimizer {
 public:
  // Throws Error when the model names no hidden matrices, or names that it does not have. `parts`:
  // see Optimizer and Muon.
  explicit MuonWithAdamW(const LanguageModel& model, const MuonOptions& muon = {},
                         const AdamWOptions& adamw = {},
                         const std::optional<TensorParts>& parts = {});

  void step(double learning_rate, double gradient_scale = 1.0) override;

 private:
  std::optional<Muon> muon_;
  std::optional<AdamW> adamw_;
};

}  // namespace headlight
