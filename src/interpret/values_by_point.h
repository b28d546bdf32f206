#pragma once

#include <functional>
#include <map>
#include <vector>

#include "headlight/nn/module.h"
#include "interpret/point_values.h"

namespace headlight {

// Values by point and layer: one value for each sequence for maps, else one for all rows.
using ValuesByPoint = std::map<PointInLayer, std::vector<Tensor>>;

// Keeps the values of the wanted points. Optionally adds a zero leaf to each, which gets the
// gradient of the value.
class KeepPoints final : public ForwardHook {
 public:
  explicit KeepPoints(std::function<bool(Point, Index)> wants, bool with_leaves = false,
                      bool in_family_units = false)
      : wants_(std::move(wants)), with_leaves_(with_leaves), in_family_units_(in_family_units) {}

  bool wants(Point point, Index layer) const override { return wants_(point, layer); }
  bool in_family_units() const override { return in_family_units_; }
  Tensor visit(const HookSite& site, const Tensor& value) override;

  ValuesByPoint values;
  ValuesByPoint leaves;

 private:
  std::function<bool(Point, Index)> wants_;
  bool with_leaves_;
  bool in_family_units_;
};

// Freezes all weights of a model during its lifetime: backward passes leave out their gradients.
class FrozenWeights {
 public:
  explicit FrozenWeights(const Module& model);
  ~FrozenWeights();
  FrozenWeights(const FrozenWeights&) = delete;
  FrozenWeights& operator=(const FrozenWeights&) = delete;

 private:
  NamedTensors weights_;
};

}  // namespace headlight
