#pragma once

#include <vector>

#include "headlight/heads/head_set.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/language_model.h"

namespace headlight {

// Replaces the outputs of some heads by their columns of `substitutes`: [L] of [N, H D]; empty for
// zeros. `substitutes` must outlive the hook.
class ReplaceHeads final : public ForwardHook {
 public:
  ReplaceHeads(const LanguageModel& model, HeadSet heads, const std::vector<Tensor>& substitutes)
      : layout_(model.heads()), heads_(std::move(heads)), substitutes_(substitutes) {}

  bool wants(Point point, Index layer) const override;
  Tensor visit(const Place& place, const Tensor& z) override;

 private:
  HeadLayout layout_;
  HeadSet heads_;
  const std::vector<Tensor>& substitutes_;
};

}  // namespace headlight
