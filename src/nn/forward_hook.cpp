#include "headlight/nn/forward_hook.h"

#include <algorithm>

#include "headlight/base/error.h"

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

Tensor visited(ForwardHook* hook, const Place& place, const Tensor& value) {
  if (hook == nullptr || !hook->wants(place.point, place.layer)) {
    return value;
  }
  Tensor result = hook->visit(place, value);
  require(result.defined() && result.shape() == value.shape() && result.dtype() == value.dtype(),
          "[ForwardHook] ", point_name(place.point, place.layer), ": expected the hook to return ",
          value.shape(), " ", name_of(value.dtype()), ", as it was given");
  return result;
}

bool wants_any(const ForwardHook* hook, std::initializer_list<Point> points, Index layer) {
  return hook != nullptr && std::any_of(points.begin(), points.end(),
                                        [&](Point point) { return hook->wants(point, layer); });
}

}  // namespace headlight
