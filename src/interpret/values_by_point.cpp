#include "interpret/values_by_point.h"

#include <algorithm>

#include "headlight/ops/elementwise.h"

namespace headlight {
namespace {

void keep_value(ValuesByPoint& values, const HookSite& site, const Tensor& value) {
  std::vector<Tensor>& sequences = values[{site.point, site.layer}];
  const auto number = static_cast<std::size_t>(site.sequence);
  sequences.resize(std::max(sequences.size(), number + 1));
  sequences[number] = value;
}

}  // namespace

Tensor KeepPoints::visit(const HookSite& site, const Tensor& value) {
  keep_value(values, site, to_contiguous(value.detach()).clone());
  if (!with_leaves_) {
    return value;
  }
  const Tensor leaf = Tensor::zeros(value.shape(), value.dtype()).set_requires_grad();
  keep_value(leaves, site, leaf);
  return value + leaf;
}

FrozenWeights::FrozenWeights(const Module& model) : weights_(model.trainable_parameters()) {
  for (auto& [name, weight] : weights_) {
    weight.set_requires_grad(false);
  }
}

FrozenWeights::~FrozenWeights() {
  for (auto& [name, weight] : weights_) {
    weight.set_requires_grad(true);
  }
}

}  // namespace headlight
