#include "headlight/nn/forward_hook.h"

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/ops/elementwise.h"

namespace headlight {

ForwardHook* HookPair::get() {
  ForwardHook* only = first_ == nullptr ? second_ : second_ == nullptr ? first_ : nullptr;
  const bool is_empty = first_ == nullptr && second_ == nullptr;
  return is_empty || (only != nullptr && residual_multiplier_ == 0) ? only : this;
}

void HookPair::begin(const Batch& rows) {
  for (ForwardHook* hook : {first_, second_}) {
    if (hook != nullptr) {
      hook->begin(rows);
    }
  }
}

bool HookPair::wants(Point point, Index layer) const {
  return wants_any(first_, {point}, layer) || wants_any(second_, {point}, layer);
}

Tensor HookPair::visit(const HookSite& site, const Tensor& value) {
  HookSite known = site;
  if (residual_multiplier_ > 0) {
    known.unit = family_unit(site.point, residual_multiplier_);
  }
  return visited(second_, known, visited(first_, known, value));
}

namespace {

// Returns whether two tensors of one shape and type are the same elements with one history.
bool is_same(const Tensor& a, const Tensor& b) {
  return a.grad_node() == b.grad_node() && a.strides() == b.strides() &&
         dispatch_floating(a.dtype(), "ForwardHook", [&](auto zero) {
           return a.data<decltype(zero)>() == b.data<decltype(zero)>();
         });
}

}  // namespace

void FeaturePoints::begin(const Batch& rows) {
  both_.begin(rows);
  changes_.clear();
}

bool FeaturePoints::wants(Point point, Index layer) const {
  const PointInLayer spot{point, layer};
  return both_.wants(point, layer) || std::ranges::any_of(maps_, [&](const auto& entry) {
           const auto& [number, map] = entry;
           return (map->input() == spot || map->output() == spot) &&
                  both_.wants(Point::feature, number);
         });
}

Tensor FeaturePoints::visit(const HookSite& site, const Tensor& value) {
  const PointInLayer spot{site.point, site.layer};
  const double unit = family_unit(site.point, residual_multiplier_);
  HookSite known = site;
  known.unit = unit;
  const bool is_written =
      std::ranges::any_of(maps_, [&](const auto& entry) { return entry.second->output() == spot; });
  Tensor result = is_written ? visited(before_, known, value) : visited(&both_, site, value);
  for (const auto& [layer, map] : maps_) {
    if (map->input() == spot && both_.wants(Point::feature, layer)) {
      const Tensor values = unit == 1 ? result : result * unit;
      const Tensor features = map->features(values);
      const Tensor changed = visited(&both_, {Point::feature, layer}, features);
      if (!is_same(changed, features)) {
        changes_[layer] = map->written(changed - features, values);
      }
    }
    const auto change = map->output() == spot ? changes_.find(layer) : changes_.end();
    if (change != changes_.end()) {
      result = result + (unit == 1 ? change->second : change->second / unit);
      changes_.erase(change);
    }
  }
  return is_written ? visited(after_, known, result) : result;
}

double family_unit(Point point, double residual_multiplier) {
  switch (point) {
    case Point::embed:
    case Point::resid_pre:
    case Point::result:
    case Point::attn_out:
    case Point::resid_mid:
    case Point::mlp_out:
    case Point::resid_post:
    case Point::ln1_scale:
    case Point::ln2_scale:
    case Point::ln_final_scale:
      return residual_multiplier > 0 ? residual_multiplier : 1;
    default:
      return 1;
  }
}

Tensor visited(ForwardHook* hook, const HookSite& site, const Tensor& value) {
  if (hook == nullptr || !hook->wants(site.point, site.layer)) {
    return value;
  }
  const bool converts = site.unit != 1 && hook->in_family_units();
  const Tensor shown = converts ? value * site.unit : value;
  Tensor result = hook->visit(site, shown);
  require(result.defined() && result.shape() == value.shape() && result.dtype() == value.dtype(),
          "[ForwardHook] ", point_name(site.point, site.layer), ": expected the hook to return ",
          value.shape(), " ", name_of(value.dtype()), ", as it was given");
  if (!converts) {
    return result;
  }
  return is_same(result, shown) ? value : result / site.unit;  // the first without rounding
}

void require_no_gradient(const HookSite& site, const Tensor& value) {
  require_value(!wants_gradient({value}), point_name(site.point, site.layer),
                "a hook changes this value, but gradients flow through it and would stop here; "
                "only read it, or change it with interventions (off, scale, add)");
}

bool wants_any(const ForwardHook* hook, std::initializer_list<Point> points, Index layer) {
  return hook != nullptr && std::any_of(points.begin(), points.end(),
                                        [&](Point point) { return hook->wants(point, layer); });
}

}  // namespace headlight
