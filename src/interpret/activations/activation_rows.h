#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headlight/interpret/activations/activation_cache.h"
#include "interpret/activations/activation_plan.h"
#include "interpret/activations/array_store.h"

namespace headlight {

// Consecutive contexts of a cache.
struct ContextSpan {
  Index begin = 0;
  Index end = 0;   // exclusive
  Index rows = 0;  // rows of these contexts
};

// Splits all contexts into spans of at most most_rows rows without cutting contexts. 0: one span.
// Throws Error if no token has a row, and for maps of more than kMostMappedContexts contexts.
std::vector<ContextSpan> context_spans(const ActivationPlan& plan,
                                       const ActivationContexts& contexts,
                                       const ActivationOptions& options, Index most_rows);

// An array of a cache: float32 in a store, or small int32 numbers in memory.
struct KeptArray {
  std::string name;
  std::optional<std::size_t> stored = {};  // index in the store
  Tensor numbers = {};                     // int32, if not in the store
};

// Runs the model over the contexts. Returns the arrays of cache_activations(), with the activations
// in `store`. Its own memory grows with the batch size, plus 16 bytes a row. Calls
// `on_batch(contexts done)` after every batch.
std::vector<KeptArray> gather_activations(const ActivationPlan& plan,
                                          const ActivationContexts& contexts,
                                          const ContextSpan& span, const ActivationOptions& options,
                                          const std::function<void(Index)>& on_batch,
                                          ArrayStore& store);

}  // namespace headlight
