#include "headlight/interpret/directions/text_direction.h"

#include <map>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/nn/batch.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "interpret/directions/singular_vectors.h"
#include "interpret/point_values.h"

namespace headlight {
namespace {

// Value [1, F] in float64 of a text at each wanted layer: of its last row, or the mean of all after
// the first.
std::map<Index, Tensor> values_of_text(const LanguageModel& model,
                                       const std::vector<std::int32_t>& text,
                                       const DirectionOptions& options) {
  const auto length = std::ssize(text);
  require_value(length > 0 && length <= model.block_size(), "pairs", "expected texts of 1 to ",
                model.block_size(), " tokens, the context length of the model, got ", length);
  const PointRange wanted{options.point, options.layers, {}};
  const Index first =
      options.tokens == DirectionTokens::last ? length - 1 : std::min<Index>(1, length - 1);
  std::map<Index, Tensor> result;
  for (const auto& [spot, value] : values_of(
           model, make_batch({text}),
           [&](Point point, Index layer) { return covers(wanted, point, layer); }, true)) {
    const Tensor rows = reshape(value, {length, value.numel() / length});
    result[spot.second] = mean(convert(slice(rows, 0, first, length), DType::float64),
                               {.axes = {0}, .keepdim = true});
  }
  return result;
}

// Weights [1, P] of the pairs' differences in their direction, from the differences' products
// [P, P], without the pairs whose entry of `kept` [P, 1] is 0.
Tensor weights_of(const Tensor& products, DirectionMethod method, const Tensor& kept) {
  const Tensor of_pairs = transpose(kept, 0, 1);
  if (method == DirectionMethod::mean_difference) {
    return of_pairs;
  }
  const Tensor right = singular_vectors(products * kept * of_pairs).right;
  const Tensor weights = transpose(slice(right, 1, 0, 1), 0, 1) * of_pairs;
  // The mean difference has a positive product with the direction.
  return matmul(matmul(weights, products), kept).item() < 0 ? -weights : weights;
}

TextDirection direction_of(Index layer, const Tensor& differences, DirectionMethod method) {
  const Index count = differences.size(0);
  const Tensor products = matmul(differences, transpose(differences, 0, 1));
  const Tensor all = Tensor::ones({count, 1}, DType::float64);
  const Tensor sum_of_weighted = matmul(weights_of(products, method, all), differences);  // [1, F]
  const double square = sum(sum_of_weighted * sum_of_weighted).item();
  const Tensor along = matmul(differences, transpose(sum_of_weighted, 0, 1));  // [P, 1]
  const double squares = sum(differences * differences).item();
  TextDirection direction{
      .layer = layer,
      .vector = reshape(sum_of_weighted * (square > 0 ? mean(along).item() / square : 0),
                        {differences.size(1)}),
      .explained = squares > 0 && square > 0 ? sum(along * along).item() / square / squares : 0};
  double right = 0;
  for (Index i = 0; count > 1 && i < count; ++i) {
    const Tensor others = concat(
        {slice(all, 0, 0, i), Tensor::zeros({1, 1}, DType::float64), slice(all, 0, i + 1, count)},
        0);
    const Tensor weights = weights_of(products, method, others);
    right += matmul(weights, slice(products, 1, i, i + 1)).item() > 0 ? 1 : 0;
  }
  if (count > 1) {
    direction.held_out = right / static_cast<double>(count);
  }
  return direction;
}

}  // namespace

std::vector<TextDirection> text_directions(const LanguageModel& model,
                                           const std::vector<DirectionPair>& pairs,
                                           const DirectionOptions& options) {
  require_value(!pairs.empty(), "pairs", "expected at least one pair of texts");
  require_value(items_of(options.point) != PointItems::maps, "point",
                "expected values of tokens, got ", name_of(options.point));
  const NoGrad no_grad;
  std::map<Index, std::vector<Tensor>> differences;  // by layer, of the pairs
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::map<Index, Tensor> away = values_of_text(model, pairs[i].second, options);
    for (const auto& [layer, value] : values_of_text(model, pairs[i].first, options)) {
      differences[layer].push_back(value - away.at(layer));
    }
    options.progress(static_cast<double>(i + 1) / static_cast<double>(pairs.size()));
  }
  require_value(!differences.empty(), "point", "this model does not compute ",
                name_of(options.point), " in layers ", range_text(options.layers));
  std::vector<TextDirection> directions;
  for (const auto& [layer, of_pairs] : differences) {
    directions.push_back(direction_of(layer, concat(of_pairs, 0), options.method));
  }
  return directions;
}

}  // namespace headlight
