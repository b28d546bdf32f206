#include "headlight/nn/forward_hook.h"

#include <algorithm>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/ops/elementwise.h"

namespace headlight {

void HookPair::begin(const Batch& rows) {
  first_->begin(rows);
  second_->begin(rows);
}

bool HookPair::wants(Point point, Index layer) const {
  return first_->wants(point, layer) || second_->wants(point, layer);
}

Tensor HookPair::visit(const Place& place, const Tensor& value) {
  return visited(second_, place, visited(first_, place, value));
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

Place place_of(Point point, Index layer, double residual_multiplier) {
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
      return {.point = point,
              .layer = layer,
              .unit = residual_multiplier > 0 ? residual_multiplier : 1};
    default:
      return {.point = point, .layer = layer};
  }
}

Tensor visited(ForwardHook* hook, const Place& place, const Tensor& value) {
  if (hook == nullptr || !hook->wants(place.point, place.layer)) {
    return value;
  }
  const bool converts = place.unit != 1 && hook->in_family_units();
  const Tensor shown = converts ? value * place.unit : value;
  Tensor result = hook->visit(place, shown);
  require(result.defined() && result.shape() == value.shape() && result.dtype() == value.dtype(),
          "[ForwardHook] ", point_name(place.point, place.layer), ": expected the hook to return ",
          value.shape(), " ", name_of(value.dtype()), ", as it was given");
  if (!converts) {
    return result;
  }
  return is_same(result, shown) ? value : result / place.unit;  // the first without rounding
}

void require_no_gradient(const Place& place, const Tensor& value) {
  require_value(!wants_gradient({value}), point_name(place.point, place.layer),
                "a hook changes this value, but gradients flow through it and would stop here; "
                "only read it, or change it with interventions (off, scale, add)");
}

bool wants_any(const ForwardHook* hook, std::initializer_list<Point> points, Index layer) {
  return hook != nullptr && std::any_of(points.begin(), points.end(),
                                        [&](Point point) { return hook->wants(point, layer); });
}

}  // namespace headlight
