#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "interpret/effects/answer_contrast.h"
#include "interpret/values_by_point.h"

namespace headlight {

// Gradient of a contrast from one backward pass.
struct GradientPass {
  std::optional<Index> dropped;  // layer through which no gradient flows
  ValuesByPoint gradients;       // undefined where the contrast does not depend on a value
};

struct GradientPasses {
  ValuesByPoint values;  // at the wanted points
  std::vector<GradientPass> passes;
};

// Returns the gradients of the contrast after a text at the wanted points: of one pass, or with
// `drops_layers` of one pass for each layer, in which the outputs of its attention and MLP count as
// constants (GradDrop of Kramár et al., arXiv 2403.00745). Models of one layer have one pass.
// Throws Error about "metric" for a metric without a gradient.
GradientPasses gradient_passes(const LanguageModel& model, const AnswerContrast& contrast,
                               const std::vector<std::int32_t>& text,
                               const std::function<bool(Point, Index)>& wants, bool drops_layers);

}  // namespace headlight
