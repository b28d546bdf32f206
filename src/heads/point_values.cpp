#include "heads/point_values.h"

#include <algorithm>
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
  if (kind != PointItems::features && heads.count(layer) > 0) {
    const std::vector<Index>& numbers = kind == PointItems::key_heads
                                            ? heads.key_numbers_of(layer)
                                            : heads.numbers[static_cast<std::size_t>(layer)];
    if (std::ssize(numbers) == items) {
      return numbers;
    }
  }
  std::vector<Index> numbers(static_cast<std::size_t>(items));
  std::iota(numbers.begin(), numbers.end(), Index{0});
  return numbers;
}

bool covers(const PointRange& target, Point point, Index layer) {
  return target.point == point && target.layers.contains(layer);
}

bool covers(const std::vector<PointRange>& targets, Point point, Index layer) {
  return std::any_of(targets.begin(), targets.end(),
                     [&](const PointRange& target) { return covers(target, point, layer); });
}

Tensor KeepValues::visit(const Place& place, const Tensor& value) {
  const Tensor kept = part_ ? part_(place, value) : value;
  values[{place.point, place.layer}] = to_contiguous(kept.detach()).clone();
  return value;
}

void RowMeans::add(const Tensor& value) {
  const std::vector<double> values = value.to_vector();
  const auto rows = static_cast<std::size_t>(value.size(0));
  sums_.resize(values.size() / rows);
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums_[i % sums_.size()] += values[i];
  }
  rows_ += static_cast<double>(rows);
}

Tensor RowMeans::row(DType dtype) const {
  std::vector<double> mean = sums_;
  for (double& value : mean) {
    value /= rows_;
  }
  return convert(Tensor::from(mean, {std::ssize(mean)}), dtype);
}

PointValues values_of(const Gpt& model, const Batch& batch,
                      std::function<bool(Point, Index)> wants) {
  const NoGrad no_grad;
  KeepValues hook(std::move(wants));
  model.hidden(batch, {.hook = &hook});
  return std::move(hook.values);
}

PointValues values_of(const Gpt& model, const std::vector<std::int32_t>& tokens,
                      std::function<bool(Point, Index)> wants) {
  return values_of(model, make_batch({tokens}), std::move(wants));
}

}  // namespace headlight
