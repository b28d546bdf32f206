#pragma once

#include <string>
#include <vector>

#include "headlight/heads/activation_files.h"
#include "headlight/nn/forward_hook.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/point.h"

namespace headlight {

// One array of a cache.
struct ActivationArray {
  Point point = Point::resid_pre;
  Index layer = 0;
  Shape row;                          // behind the axis of rows: [C], [heads, D]; of maps [H]
  std::vector<Index> places;          // along the axis of items; empty: all
  std::vector<std::int32_t> numbers;  // that the items are known by; empty: 0, 1, 2 ...

  bool is_map() const { return items_of(point) == PointItems::maps; }
  std::string name() const { return point_name(point, layer); }
};

// What a model has to compute for some points. A pass over one token tells what it comes by there.
class ActivationPlan {
 public:
  // The model must outlive the plan. Throws Error for layers, heads and elements that the model
  // does not have, and when it computes none of the points.
  ActivationPlan(const LanguageModel& model, const std::vector<PointRange>& points);

  // In the order of a pass.
  const std::vector<ActivationArray>& arrays() const { return arrays_; }
  // Points that the model does not compute.
  const std::vector<AbsentPoint>& absent() const { return absent_; }
  bool wants(Point point, Index layer) const;
  Index row_bytes() const;  // as float32, without maps
  Index map_heads() const;  // of all maps of a context; 0: there is no map
  Index vocab_size() const { return model_.vocab_size(); }
  // A pass without gradients, no further than to the last point. Logits of a Gpt are left out: in
  // their stead its hidden states [N, C] are returned where they are wanted, of which a few rows at
  // once give logits that memory holds. Undefined otherwise.
  Tensor run(const Batch& batch, ForwardHook& hook) const;
  Tensor logits_of(const Tensor& hidden) const { return gpt_->logits_of(hidden); }

 private:
  // The layers of a point, with a last one. Throws Error when the model does not have them.
  NumberRange existing_layers(const PointRange& points) const;
  // Fills in the arrays, given the items that are named of each; removes absent ones.
  void probe(const std::vector<std::vector<NumberRange>>& items);

  const LanguageModel& model_;
  const Gpt* gpt_;  // the model, if it is one
  Index layers_;    // of the model
  Index run_layers_ = 0;
  bool to_the_end_ = false;
  std::vector<ActivationArray> arrays_;
  std::vector<AbsentPoint> absent_;
};

}  // namespace headlight
