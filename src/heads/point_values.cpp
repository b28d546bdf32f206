#include "heads/point_values.h"

#include <numeric>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/layout.h"

namespace headlight {

ValueLayout::ValueLayout(Point point, const Shape& shape) {
  switch (items_of(point)) {
    case PointItems::maps:  // [H, T, S]
      rows = shape[1];
      items = shape[0];
      width = shape[2];
      row_stride = width;
      item_stride = rows * width;
      return;
    case PointItems::features:  // [N, F]
      rows = shape[0];
      items = shape[1];
      width = 1;
      row_stride = items;
      item_stride = 1;
      return;
    case PointItems::heads:
    case PointItems::key_heads:  // [N, H, D]
      rows = shape[0];
      items = shape[1];
      width = shape[2];
      row_stride = items * width;
      item_stride = width;
  }
}

std::vector<Index> item_numbers(Point point, Index layer, Index items, const HeadLayout& heads) {
  const PointItems kind = items_of(point);
  if (kind == PointItems::heads || kind == PointItems::maps) {
    return heads.numbers[static_cast<std::size_t>(layer)];
  }
  std::vector<Index> numbers(static_cast<std::size_t>(items));
  std::iota(numbers.begin(), numbers.end(), Index{0});
  return numbers;
}

Tensor KeepValues::visit(const Place& place, const Tensor& value) {
  values[{place.point, place.layer}] = to_contiguous(value.detach()).clone();
  return value;
}

PointValues values_of(const Gpt& model, const std::vector<std::int32_t>& tokens,
                      std::function<bool(Point, Index)> wants) {
  const NoGrad no_grad;
  KeepValues hook(std::move(wants));
  model.hidden(make_batch({tokens}), {.hook = &hook});
  return std::move(hook.values);
}

}  // namespace headlight
