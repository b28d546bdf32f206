#include "heads/effects/replace_heads.h"

namespace headlight {

bool ReplaceHeads::wants(Point point, Index layer) const {
  return point == Point::z && !heads_.of_layer(layer).empty();
}

Tensor ReplaceHeads::visit(const Place& place, const Tensor& z) {
  Tensor changed = z.detach().clone();
  const Index width = z.size(2);
  const Shape shape{z.size(0), width};
  for (const HeadId& id : heads_.of_layer(place.layer)) {
    const Index begin = place_of(id, layout_) * width;
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

}  // namespace headlight
