#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/interpret/activations/activation_files.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/language_model.h"
#include "headlight/nn/point.h"

namespace headlight {

// One array of a cache.
struct ActivationArray {
  Point point = Point::resid_pre;
  Index layer = 0;
  std::vector<NumberRange> requested = {};  // items
  Shape row = {};                   // without the axis of rows: [C], [heads, D]; for maps [H]
  std::vector<Index> indices = {};  // indices on the axis of items; empty: all
  std::vector<std::int32_t> numbers = {};  // numbers of the items; empty: 0, 1, 2 ...

  bool is_map() const { return items_of(point) == PointItems::maps; }
  std::string name() const { return point_name(point, layer); }
};

// Arrays to compute for some points. A pass over one token finds which points the model has.
class ActivationPlan {
 public:
  // Finds the arrays that the model computes at `points`. The model must outlive the plan. Throws
  // Error for layers, heads and elements that the model does not have, and if no point exists.
  ActivationPlan(const LanguageModel& model, const std::vector<PointRange>& points);

  // Arrays in the order of a pass.
  const std::vector<ActivationArray>& arrays() const { return arrays_; }
  // Points that the model does not compute.
  const std::vector<AbsentPoint>& absent() const { return absent_; }
  // Index of an array; none if it is not requested.
  std::optional<std::size_t> find(Point point, Index layer) const;
  Index row_bytes() const;  // as float32, without maps
  Index map_heads() const;  // in all maps of a context; 0: no maps
  Index vocab_size() const { return model_.vocab_size(); }
  // Runs a pass without gradients, up to the last requested point. If logits are requested, returns
  // the hidden states [N, C] instead, because all logits may exceed memory; the caller converts a
  // few rows at a time. Otherwise returns an undefined tensor.
  Tensor run(const Batch& batch, ForwardHook& hook) const;
  Tensor logits_of(const Tensor& hidden) const { return model_.logits_of(hidden); }

 private:
  // Returns the layers of a point, with the last one set. Throws Error if the model lacks them.
  NumberRange existing_layers(const PointRange& points) const;
  // Fills in the arrays; removes absent ones.
  void probe();

  const LanguageModel& model_;
  Index layers_;  // of the model
  Index run_layers_ = 0;
  bool to_the_end_ = false;
  std::vector<ActivationArray> arrays_;
  std::vector<AbsentPoint> absent_;
};

}  // namespace headlight
