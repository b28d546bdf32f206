#include "headlight/interpret/directions/text_direction.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/nn/batch.h"
#include "headlight/ops/compare.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/matmul.h"
#include "headlight/ops/reduce.h"
#include "interpret/point_values.h"

namespace headlight {
namespace {

// Most steps of a power iteration, for all pairs and without one of them.
constexpr int kMostSteps = 1'000;
constexpr int kMostHeldOutSteps = 100;

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

// Returns rows [B, F] with the length 1; rows of zeros stay.
Tensor unit_rows(const Tensor& rows) {
  const Tensor squares = sum(rows * rows, {.axes = {1}, .keepdim = true});
  const Tensor is_zero = convert(equal(squares, 0.0), rows.dtype());
  return rows / sqrt(squares + is_zero);
}

Tensor row_products(const Tensor& a, const Tensor& b) {  // [B, 1]
  return sum(a * b, {.axes = {1}, .keepdim = true});
}

// End of a power iteration: elements that change by less, or so many steps.
struct Precision {
  double tolerance;
  int most_steps;
};

// First principal components through 0, [B, F] of length 1, of the rows [P, F], the b-th without
// the row left_out[b], if that is defined [B, F]. Power iteration from start [B, F].
Tensor principal_components(const Tensor& rows, const Tensor& start, const Tensor& left_out,
                            const Precision& precision, const std::function<void()>& pause) {
  const Tensor columns = to_contiguous(transpose(rows, 0, 1));
  Tensor found = unit_rows(start);
  for (int step = 0; step < precision.most_steps; ++step) {
    Tensor next = matmul(matmul(found, columns), rows);
    if (left_out.defined()) {
      next = next - left_out * row_products(found, left_out);
    }
    next = unit_rows(next);
    const std::vector<double> changes = (next - found).to_vector();
    found = next;
    if (std::ranges::all_of(
            changes, [&](double change) { return std::abs(change) < precision.tolerance; })) {
      break;
    }
    pause();
  }
  return found;
}

// Directions of the differences [P, F] of the pairs at a layer.
class PairDirections {
 public:
  PairDirections(Tensor differences, DirectionMethod method, std::function<void()> pause)
      : differences_(std::move(differences)),
        method_(method),
        pause_(std::move(pause)),
        total_(sum(differences_, {.axes = {0}, .keepdim = true})),
        direction_(method == DirectionMethod::mean_difference
                       ? unit_rows(total_)
                       : pointing(principal_components(differences_, start(), {},
                                                       {1e-12, kMostSteps}, pause_),
                                  total_)) {}

  TextDirection direction(Index layer) const {
    const Tensor along = matmul(differences_, transpose(direction_, 0, 1));  // [P, 1]
    const double squares = sum(differences_ * differences_).item();
    const double length = mean(along).item();
    const double rounding = 1e-10 * std::sqrt(squares / static_cast<double>(pairs()));
    TextDirection result{
        .layer = layer,
        .vector = reshape(direction_ * (length > rounding ? length : 0), {differences_.size(1)}),
        .explained = squares > 0 ? sum(along * along).item() / squares : 0};
    if (pairs() > 1) {
      result.held_out = held_out();
    }
    return result;
  }

 private:
  Index pairs() const { return differences_.size(0); }

  // Returns a row [1, F] that is in general not orthogonal to a principal component: the pairs'
  // differences with unequal weights.
  Tensor start() const {
    constexpr double kGolden = 0.6180339887498949;
    std::vector<double> weights;
    for (Index i = 1; i <= pairs(); ++i) {
      const double multiple = static_cast<double>(i) * kGolden;
      weights.push_back(0.5 + multiple - std::floor(multiple));
    }
    return matmul(Tensor::from(weights, {1, pairs()}), differences_);
  }

  // Returns rows [B, F] with the signs with which their products with `totals` are not negative.
  static Tensor pointing(const Tensor& rows, const Tensor& totals) {
    std::vector<double> signs;
    for (const double product : row_products(rows, totals).to_vector()) {
      signs.push_back(product < 0 ? -1 : 1);
    }
    return rows * Tensor::from(signs, {std::ssize(signs), 1});
  }

  // Share of the pairs that the direction of all others orders rightly.
  double held_out() const {
    constexpr Index kPairs = 64;  // at once
    double right = 0;
    for (Index first = 0; first < pairs(); first += kPairs) {
      const Tensor rows = slice(differences_, 0, first, std::min(first + kPairs, pairs()));
      Tensor of_others = total_ - rows;  // [B, F]
      if (method_ == DirectionMethod::principal_component) {
        const Tensor near =
            direction_ + unit_rows(start()) * 1e-3 + Tensor::zeros(rows.shape(), DType::float64);
        of_others = pointing(
            principal_components(differences_, near, rows, {1e-7, kMostHeldOutSteps}, pause_),
            of_others);
      }
      for (const double product : row_products(of_others, rows).to_vector()) {
        right += product > 0 ? 1 : 0;
      }
      pause_();
    }
    return right / static_cast<double>(pairs());
  }

  Tensor differences_;
  DirectionMethod method_;
  std::function<void()> pause_;
  Tensor total_;      // [1, F]
  Tensor direction_;  // [1, F], of length 1
};

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
    const Tensor rows = concat(of_pairs, 0);
    require(std::isfinite(sum(rows * rows).item()), "the values of ", name_of(options.point),
            " in layer ", layer, " are not finite");
    const PairDirections of_layer(rows, options.method, [&] { options.progress(1.0); });
    directions.push_back(of_layer.direction(layer));
  }
  const auto is_null = [](const TextDirection& one) {
    return sum(one.vector * one.vector).item() == 0;
  };
  require_value(!std::ranges::all_of(directions, is_null), "pairs",
                "expected texts with and without a property: the mean difference of their ",
                name_of(options.point), " is 0");
  return directions;
}

Index most_products(DirectionMethod method, Index pairs) {
  return method == DirectionMethod::mean_difference ? 2
                                                    : 2 * (kMostSteps + kMostHeldOutSteps * pairs);
}

}  // namespace headlight
