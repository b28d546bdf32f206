#include "interpret/effects/gradient_passes.h"

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"

namespace headlight {
namespace {

// Hook that makes the outputs of a layer's attention and MLP constants for the backward pass.
class DropLayer final : public ForwardHook {
 public:
  explicit DropLayer(Index layer) : layer_(layer) {}
  bool wants(Point point, Index layer) const override {
    return layer == layer_ && (point == Point::attn_out || point == Point::mlp_out);
  }
  Tensor visit(const HookSite&, const Tensor& value) override { return value.detach(); }

 private:
  Index layer_;
};

ValuesByPoint backward_to_leaves(const Tensor& measured, const ValuesByPoint& leaves) {
  require_value(measured.requires_grad(), "metric",
                "expected a value with a gradient with respect to the logits");
  backward(measured);
  ValuesByPoint gradients;
  for (const auto& [spot, values] : leaves) {
    for (const Tensor& leaf : values) {
      gradients[spot].push_back(leaf.grad());
    }
  }
  return gradients;
}

}  // namespace

GradientPasses gradient_passes(const LanguageModel& model, const AnswerContrast& contrast,
                               const std::vector<std::int32_t>& text,
                               const std::function<bool(Point, Index)>& wants, bool drops_layers) {
  const FrozenWeights frozen(model);
  GradientPasses result;
  const auto run = [&](std::optional<Index> dropped) {
    KeepPoints keep(wants, true);
    DropLayer drop(dropped.value_or(kNoLayer));
    HookPair hooks(&keep, dropped ? &drop : nullptr);
    const Tensor measured = contrast.after(model, text, hooks.get());
    result.passes.push_back({dropped, backward_to_leaves(measured, keep.leaves)});
    result.values = std::move(keep.values);
  };
  const Index layers = model.heads().layers();
  if (!drops_layers || layers == 1) {
    run(std::nullopt);
    return result;
  }
  for (Index layer = 0; layer < layers; ++layer) {
    run(layer);
  }
  return result;
}

}  // namespace headlight
