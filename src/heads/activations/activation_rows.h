#pragma once

#include <functional>
#include <vector>

#include "headlight/heads/activation_cache.h"
#include "heads/activations/activation_plan.h"

namespace headlight {

// Contexts of a cache that follow each other.
struct ContextSpan {
  Index begin = 0;
  Index end = 0;   // behind the last
  Index rows = 0;  // that they have
};

// All contexts, in spans of at most so many rows; a context is never cut. 0: in one span. Throws
// Error when no token has a row, when there are maps of more than kMostMappedContexts contexts, and
// when the memory that is free does not hold the arrays of the largest span.
std::vector<ContextSpan> context_spans(const ActivationPlan& plan,
                                       const ActivationContexts& contexts,
                                       const ActivationOptions& options, Index most_rows);

// Runs the model over the contexts; returns what cache_activations() does. Calls
// `on_batch(contexts that are done)` after every batch, unless it is null.
NamedTensors gather_activations(const ActivationPlan& plan, const ActivationContexts& contexts,
                                const ContextSpan& span, const ActivationOptions& options,
                                const std::function<void(Index)>& on_batch);

}  // namespace headlight
