#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headlight/heads/activation_cache.h"
#include "heads/activations/activation_plan.h"
#include "heads/activations/array_store.h"

namespace headlight {

// Contexts of a cache that follow each other.
struct ContextSpan {
  Index begin = 0;
  Index end = 0;   // behind the last
  Index rows = 0;  // that they have
};

// All contexts, in spans of at most so many rows; a context is never cut. 0: in one span. Throws
// Error when no token has a row, and when there are maps of more than kMostMappedContexts contexts.
std::vector<ContextSpan> context_spans(const ActivationPlan& plan,
                                       const ActivationContexts& contexts,
                                       const ActivationOptions& options, Index most_rows);

// Throws Error when the memory that is free does not hold the arrays of a span.
void require_memory(const ActivationPlan& plan, const ActivationContexts& contexts,
                    const ContextSpan& span, const TokenPositions& positions);

// An array of a cache: float32 in a store, or small.
struct KeptArray {
  std::string name;
  std::optional<std::size_t> stored = {};  // its number there
  Tensor numbers = {};                     // int32, where it is not stored
};

// Runs the model over the contexts; returns what cache_activations() does, with the activations in
// `store`. What it holds in memory itself grows with a batch, and with 16 bytes a row. Calls
// `on_batch(contexts that are done)` after every batch, unless it is null.
std::vector<KeptArray> gather_activations(const ActivationPlan& plan,
                                          const ActivationContexts& contexts,
                                          const ContextSpan& span, const ActivationOptions& options,
                                          const std::function<void(Index)>& on_batch,
                                          ArrayStore& store);

}  // namespace headlight
