#include "headlight/interpret/activations/activation_recorder.h"

#include <algorithm>
#include <limits>

#include "headlight/base/error.h"
#include "headlight/nn/batch.h"
#include "headlight/ops/layout.h"

namespace headlight {

ActivationRecorder::ActivationRecorder(std::vector<PointRange> points)
    : points_(std::move(points)) {
  for (const PointRange& range : points_) {
    require_value(!range.items, "names", "expected whole points, such as z.3, got ",
                  name_of(range.point), " with parts");
  }
}

void ActivationRecorder::begin(const Batch& rows) {
  require(rows.sequence_count() == 1, "[ActivationRecorder] expected one sequence, got ",
          rows.sequence_count());
  const std::int32_t* positions = rows.positions.data<std::int32_t>();
  const std::int32_t* tokens = rows.tokens.data<std::int32_t>();
  first_ = positions[0];
  for (Index row = 0; row < rows.token_count(); ++row) {
    const auto position = static_cast<std::size_t>(positions[row]);
    tokens_.resize(std::max(tokens_.size(), position + 1), -1);
    require_value(tokens_[position] == -1 || tokens_[position] == tokens[row], "max_new_tokens",
                  "expected a text that fits into the context, to record activations");
    tokens_[position] = tokens[row];
  }
}

bool ActivationRecorder::wants(Point point, Index layer) const {
  return std::ranges::any_of(points_, [&](const PointRange& range) {
    return range.point == point && (!is_in_layer(point) || range.layers.contains(layer));
  });
}

Tensor ActivationRecorder::visit(const HookSite& site, const Tensor& value) {
  rows_[{site.layer, site.point}].push_back({first_, to_contiguous(value.detach()).clone()});
  return value;
}

NamedTensors ActivationRecorder::arrays() const {
  NamedTensors arrays;
  for (const auto& [spot, passes] : rows_) {
    const bool is_map = items_of(spot.second) == PointItems::maps;
    Shape shape = passes.front().values.shape();
    shape[is_map ? 1 : 0] = length();
    if (is_map) {
      shape[2] = length();
    }
    Tensor all = Tensor::full(shape, is_map ? 0 : std::numeric_limits<double>::quiet_NaN(),
                              passes.front().values.dtype());
    for (const auto& [first, values] : passes) {
      const Index end = first + values.size(is_map ? 1 : 0);
      if (is_map) {  // the last keys are those up to the last query
        Tensor rows = slice(slice(all, 1, first, end), 2, end - values.size(2), end);
        rows.copy_from(values);
      } else {
        slice(all, 0, first, end).copy_from(values);
      }
    }
    arrays.emplace_back(point_name(spot.second, spot.first) + (is_map ? "/0" : ""), all);
  }
  return arrays;
}

}  // namespace headlight
