#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/nn/language_model.h"
#include "headlight/nn/point.h"

// Directions between texts with and without a property, for steering.
namespace headlight {

enum class DirectionMethod {
  mean_difference,      // mean of the differences of the pairs
  principal_component,  // their first principal component through 0
};
template <>
inline constexpr auto kChoices<DirectionMethod> = std::to_array<Choice<DirectionMethod>>(
    {{"mean_difference", DirectionMethod::mean_difference},
     {"principal_component", DirectionMethod::principal_component}});

// Tokens of a text whose values stand for it: the last one, or the mean of all but the first, whose
// values are far larger in many models.
enum class DirectionTokens { last, mean };
template <>
inline constexpr auto kChoices<DirectionTokens> = std::to_array<Choice<DirectionTokens>>(
    {{"last", DirectionTokens::last}, {"mean", DirectionTokens::mean}});

// Token ids of a text with the property, and of one without it; their lengths may differ.
using DirectionPair = std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>;

struct DirectionOptions {
  Point point = Point::resid_post;  // no map of attention
  NumberRange layers = {};
  DirectionMethod method = DirectionMethod::mean_difference;
  DirectionTokens tokens = DirectionTokens::last;
  std::function<void(double)> progress = [](double) {};  // share of the texts, 0 to 1
};

struct TextDirection {
  Index layer = 0;
  // [F], the elements of a row, float64, in the units of the model's family. It leads from texts
  // without the property to texts with it; a principal component has the length of the mean
  // difference along it, so that a factor has the same meaning with both methods.
  Tensor vector;
  // Share of the pairs whose difference has a positive product with the direction of all other
  // pairs; none for a single pair.
  std::optional<double> held_out = {};
  double explained = 0;  // share of the squared lengths of the differences along the vector
};

// Returns the direction of each layer of the range. Costs a pass of each text. Throws Error about
// "pairs" for no pairs, an empty text and texts longer than the context; about "point" for maps,
// and for points that no layer of the range computes.
std::vector<TextDirection> text_directions(const LanguageModel& model,
                                           const std::vector<DirectionPair>& pairs,
                                           const DirectionOptions& options = {});

// Returns at most how many products of two rows [F] each pair of `pairs` costs in each layer.
Index most_products(DirectionMethod method, Index pairs);

}  // namespace headlight
