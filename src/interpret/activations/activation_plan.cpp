#include "interpret/activations/activation_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/nn/batch.h"
#include "interpret/point_values.h"

namespace headlight {
namespace {

// Sort key in the order of a pass: points before the layers, each layer, points after the layers.
std::pair<Index, Point> order_of(Point point, Index layer, Index layers) {
  const Index behind = point == Point::embed ? -1 : layers;
  return {is_in_layer(point) ? layer : behind, point};
}

// In the order of PointItems.
constexpr std::array kItemNames{"heads", "heads of keys and values", "heads", "elements"};

// Selects the requested items of an array.
void choose_items(ActivationArray& array, const std::vector<Index>& numbers) {
  for (const NumberRange& range : array.requested) {
    const bool is_there = std::any_of(numbers.begin(), numbers.end(),
                                      [&](Index number) { return range.contains(number); });
    require(is_there && range.last.value_or(0) <= numbers.back(), array.name(), ": expected ",
            kItemNames[static_cast<std::size_t>(items_of(array.point))], " ", numbers_text(numbers),
            ", got ", range_text(range));
  }
  for (std::size_t index = 0; index < numbers.size(); ++index) {
    const bool is_chosen =
        std::any_of(array.requested.begin(), array.requested.end(),
                    [&](const NumberRange& range) { return range.contains(numbers[index]); });
    if (is_chosen) {
      array.indices.push_back(static_cast<Index>(index));
      array.numbers.push_back(static_cast<std::int32_t>(numbers[index]));
    }
  }
  if (array.numbers.back() + 1 == std::ssize(array.numbers)) {  // 0, 1, 2 ...
    array.numbers.clear();
  }
  if (array.indices.size() == numbers.size()) {
    array.indices.clear();
  }
}

// Fills in an array from the shape of one token's value: [1, C], [1, H, D]; of maps [H, 1, 1].
void complete(ActivationArray& array, const Shape& shape, const HeadLayout& heads) {
  const Index axis = array.is_map() ? 0 : 1;
  const std::vector<Index> numbers = item_numbers(array.point, array.layer, shape[axis], heads);
  choose_items(array, numbers);
  array.row.push_back(array.indices.empty() ? shape[axis] : std::ssize(array.indices));
  if (shape.rank() == 3 && !array.is_map()) {
    array.row.push_back(shape[2]);
  }
}

}  // namespace

ActivationPlan::ActivationPlan(const LanguageModel& model, const std::vector<PointRange>& points)
    : model_(model), layers_(model.heads().layers()) {
  require(!points.empty(), "[activations] expected a point or more, got none");
  std::map<std::pair<Index, Point>, std::vector<NumberRange>> items;  // requested items by array
  for (const PointRange& range : points) {
    const bool has_layers = is_in_layer(range.point);
    const NumberRange layers = has_layers ? existing_layers(range) : NumberRange{0, 0};
    for (Index layer = layers.first; layer <= *layers.last; ++layer) {
      items[order_of(range.point, layer, layers_)].push_back(range.items.value_or(NumberRange{}));
    }
    run_layers_ = std::max(run_layers_, has_layers ? *layers.last + 1 : 0);
    to_the_end_ = to_the_end_ || (!has_layers && range.point != Point::embed);
  }
  for (auto& [key, ranges] : items) {
    arrays_.push_back({.point = key.second,
                       .layer = is_in_layer(key.second) ? key.first : 0,
                       .requested = std::move(ranges)});
  }
  probe();
}

void ActivationPlan::probe() {
  KeepValues hook([this](Point point, Index layer) { return find(point, layer).has_value(); });
  run(make_batch({{0}}), hook);
  hook.values[{Point::logits, 0}] = Tensor::empty({1, model_.vocab_size()});
  std::vector<ActivationArray> present;
  std::map<Point, Index> absent;
  for (ActivationArray& array : arrays_) {
    const auto found = hook.values.find({array.point, array.layer});
    if (found == hook.values.end()) {
      ++absent[array.point];
    } else {
      complete(array, found->second.shape(), model_.heads());
      present.push_back(array);
    }
  }
  require(!present.empty(), arrays_[0].name(), ": the model does not compute it");
  arrays_ = std::move(present);
  for (const auto& [point, layers] : absent) {
    absent_.push_back({point, layers});
  }
}

NumberRange ActivationPlan::existing_layers(const PointRange& points) const {
  const NumberRange& layers = points.layers;
  require(layers_ > 0, "a model of type '", model_.model_type(), "' does not say which layers it ",
          "has");
  require(layers.first < layers_ && layers.last.value_or(0) < layers_, name_of(points.point),
          ": the model has layers 0 to ", layers_ - 1, ", got ", range_text(layers));
  return {layers.first, layers.last.value_or(layers_ - 1)};
}

std::optional<std::size_t> ActivationPlan::find(Point point, Index layer) const {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (arrays_[i].point == point && arrays_[i].layer == layer) {
      return i;
    }
  }
  return std::nullopt;
}

Index ActivationPlan::row_bytes() const {
  Index elements = 0;
  for (const ActivationArray& array : arrays_) {
    elements += array.is_map() ? 0 : numel(array.row);
  }
  return elements * static_cast<Index>(sizeof(float));
}

Index ActivationPlan::map_heads() const {
  Index heads = 0;
  for (const ActivationArray& array : arrays_) {
    heads += array.is_map() ? array.row[0] : 0;
  }
  return heads;
}

Tensor ActivationPlan::run(const Batch& batch, ForwardHook& hook) const {
  const NoGrad no_grad;
  const ForwardContext context{.hook = &hook};
  if (!to_the_end_ && model_.layer_count() > 0) {
    model_.residual(batch, run_layers_, context);
    return {};
  }
  const Tensor hidden = model_.hidden(batch, context);
  return find(Point::logits, 0) ? hidden : Tensor();
}

}  // namespace headlight
