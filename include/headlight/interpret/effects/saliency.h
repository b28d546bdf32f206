#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "headlight/base/choices.h"
#include "headlight/interpret/effects/patching.h"

// Attribution of a metric to the tokens of its text.
namespace headlight {

enum class SaliencyMethod {
  gradient,              // length of the gradient with respect to a token's embedding
  gradient_x_input,      // that gradient times the embedding minus its baseline
  integrated_gradients,  // the same, with the mean gradient on the line from the baseline
  occlusion,             // fall of the metric if the token has its baseline
};
template <>
inline constexpr auto kChoices<SaliencyMethod> = std::to_array<Choice<SaliencyMethod>>(
    {{"gradient", SaliencyMethod::gradient},
     {"gradient_x_input", SaliencyMethod::gradient_x_input},
     {"integrated_gradients", SaliencyMethod::integrated_gradients},
     {"occlusion", SaliencyMethod::occlusion}});

// Embeddings that stand for no input.
enum class SaliencyBaseline { zero, corrupt };
template <>
inline constexpr auto kChoices<SaliencyBaseline> = std::to_array<Choice<SaliencyBaseline>>(
    {{"zero", SaliencyBaseline::zero}, {"corrupt", SaliencyBaseline::corrupt}});

struct SaliencyOptions {
  SaliencyMethod method = SaliencyMethod::integrated_gradients;
  SaliencyBaseline baseline = SaliencyBaseline::zero;
  Index steps = 50;  // of integrated_gradients, at least 1
  Index memory = 0;  // of occlusion: bytes of changed passes at once; 0: a quarter of what is free
  std::function<void(double)> progress = [](double) {};  // share of the work, 0 to 1
  RecordedPasses* kept = nullptr;                        // passes of the clean text
};

struct Saliency {
  std::vector<double> tokens;  // [T], of the clean text
  double metric = 0;           // after the clean text
  // Of integrated_gradients: the metric with all baselines, and the sum of the tokens minus the
  // difference of both metrics, which more steps bring to 0.
  std::optional<double> baseline = {};
  std::optional<double> delta = {};
};

// Attributes the metric of a task to the tokens of its clean text, by the token embeddings as the
// model reads them (Point::embed, before positions). Positions, and the tokens of longer answers,
// stay as they are. Integrated gradients (Sundararajan et al., arXiv 1703.01365) take the middle of
// each step. Throws Error as patch_grid() for the task, about "steps", about "baseline" for a model
// that does not compute Point::embed, and about "metric" for one without a gradient.
Saliency saliency(const LanguageModel& model, const PatchingTask& task,
                  const SaliencyOptions& options = {});

}  // namespace headlight
