#include "heads/point_values.h"

#include <algorithm>
#include <numeric>

#include "headlight/autograd/autograd.h"
#include "headlight/ops/layout.h"

namespace headlight {

ValueLayout::ValueLayout(Point point, const Shape& shape) {
  const bool is_map = items_of(point) == PointItems::maps;  // [H, T, S]; others [N, H, D] or [N, F]
  rows = shape[is_map ? 1 : 0];
  items = shape[is_map ? 0 : 1];
  width = shape.rank() == 3 ? shape[2] : 1;
  row_stride = is_map ? width : items * width;
  item_stride = is_map ? rows * width : width;
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

}  // namespace headlight
