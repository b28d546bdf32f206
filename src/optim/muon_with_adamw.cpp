#include "headlight/optim/muon_with_adamw.h"

#include <algorithm>
#include <utility>

namespace headlight {

MuonWithAdamW::MuonWithAdamW(const LanguageModel& model, const MuonOptions& muon,
                             const AdamWOptions& adamw, const std::optional<TensorParts>& parts) {
  std::vector<MuonMatrix> matrices;
  NamedTensors others = model.parameters();
  for (const HiddenMatrix& hidden : model.hidden_matrices()) {
    const auto found = std::find_if(others.begin(), others.end(),
                                    [&](const auto& item) { return item.first == hidden.name; });
    require_value(found != others.end(), "optimizer", "muon: hidden_matrices() names '",
                  hidden.name, "', which is not a parameter of the model or is named twice");
    if (found->second.requires_grad()) {
      matrices.push_back({hidden.name, found->second, hidden.blocks});
    }
    others.erase(found);
  }
  std::erase_if(others, [](const auto& item) { return !item.second.requires_grad(); });
  require_value(!matrices.empty(), "optimizer", "muon: a model of type '", model.model_type(),
                "' names no hidden matrices that are trained");
  muon_.emplace(std::move(matrices), muon, parts);
  adamw_.emplace(std::move(others), adamw, parts);
  state_ = muon_->state();
  const NamedTensors more = adamw_->state();
  state_.insert(state_.end(), more.begin(), more.end());
}

void MuonWithAdamW::step(double learning_rate, double gradient_scale) {
  muon_->step(learning_rate, gradient_scale);
  // AdamW's bias correction needs the step count, which a checkpoint may have set.
  adamw_->set_step_count(step_count_);
  adamw_->step(learning_rate, gradient_scale);
  ++step_count_;
}

}  // namespace headlight
