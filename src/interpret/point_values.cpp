#include "interpret/point_values.h"

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

Tensor KeepValues::visit(const HookSite& site, const Tensor& value) {
  const Tensor kept = part_ ? part_(site, value) : value;
  values[{site.point, site.layer}] = to_contiguous(kept.detach()).clone();
  return value;
}

PointValues values_of(const LanguageModel& model, const Batch& batch,
                      std::function<bool(Point, Index)> wants, bool in_family_units) {
  const NoGrad no_grad;
  KeepValues hook(std::move(wants), nullptr, in_family_units);
  model.hidden(batch, {.hook = &hook});
  return std::move(hook.values);
}

namespace {

// Returns the batch with the target of its last token as one more token, without targets.
Batch with_last_token(const Batch& batch, Index block_size) {
  const auto* tokens = batch.tokens.data<std::int32_t>();
  std::vector<std::vector<std::int32_t>> sequences;
  for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
    sequences.emplace_back(tokens + batch.offsets[b], tokens + batch.offsets[b + 1]);
  }
  if (std::ssize(sequences.back()) == block_size) {
    sequences.emplace_back();
  }
  sequences.back().push_back(batch.targets.data<std::int32_t>()[batch.token_count() - 1]);
  return make_batch(sequences);
}

}  // namespace

PointValues mean_rows(const LanguageModel& model, const SequentialBatches& batches, bool is_stream,
                      const std::function<bool(Point, Index)>& wants) {
  std::map<PointInLayer, std::vector<double>> sums;
  double rows = 0;
  for (Index i = 0; i < batches.count(); ++i) {
    const bool is_last = is_stream && i + 1 == batches.count();
    const Batch batch =
        is_last ? with_last_token(batches.batch(i), model.block_size()) : batches.batch(i);
    for (const auto& [spot, value] : values_of(model, batch, wants, true)) {
      const std::vector<double> values = value.to_vector();
      std::vector<double>& sum = sums[spot];
      sum.resize(values.size() / static_cast<std::size_t>(value.size(0)));
      for (std::size_t k = 0; k < values.size(); ++k) {
        sum[k % sum.size()] += values[k];
      }
    }
    rows += static_cast<double>(batch.token_count());
  }
  PointValues means;
  for (auto& [spot, sum] : sums) {
    for (double& value : sum) {
      value /= rows;
    }
    means[spot] = convert(Tensor::from(sum, {std::ssize(sum)}), model.dtype());
  }
  return means;
}

}  // namespace headlight
