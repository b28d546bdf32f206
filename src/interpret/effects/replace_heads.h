#pragma once

#include <vector>

#include "headlight/interpret/head_set.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/language_model.h"

namespace headlight {

// Replaces the outputs of some heads by their columns of `substitutes`: [L] of [N, H D]; empty for
// zeros. `substitutes` must outlive the hook.
class ReplaceHeads final : public ForwardHook {
 public:
  ReplaceHeads(const LanguageModel& model, HeadSet heads, const std::vector<Tensor>& substitutes)
      : layout_(model.heads()), heads_(std::move(heads)), substitutes_(substitutes) {}

  bool wants(Point point, Index layer) const override {
    return point == Point::z && !heads_.of_layer(layer).empty();
  }
  Tensor visit(const HookSite& site, const Tensor& z) override {
    Tensor changed = z.detach().clone();
    const Index width = z.size(2);
    const Shape shape{z.size(0), width};
    for (const HeadId& id : heads_.of_layer(site.layer)) {
      const Index begin = head_index(id, layout_) * width;
      Tensor head = changed.strided_view(shape, {z.size(1) * width, 1}, begin);
      if (substitutes_.empty()) {
        head.fill(0);
      } else {
        const Tensor& from = substitutes_[static_cast<std::size_t>(id.layer)];
        head.copy_from(from.strided_view(shape, from.strides(), begin));
      }
    }
    return changed;
  }

 private:
  HeadLayout layout_;
  HeadSet heads_;
  const std::vector<Tensor>& substitutes_;
};

}  // namespace headlight
