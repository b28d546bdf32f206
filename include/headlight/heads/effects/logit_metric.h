#pragma once

#include <cstdint>
#include <functional>

#include "headlight/base/index.h"
#include "headlight/tensor/tensor.h"

// Metrics of logits, for gradients and patching.
namespace headlight {

// Returns a scalar from the logits [N, V] of a pass: tensor ops where gradients are needed.
using LogitMetric = std::function<Tensor(const Tensor& logits)>;

// The logit of `answer` minus that of `wrong` in row `row` of the logits; -1: the last row. All
// metrics below throw Error about "metric" for ids outside the vocabulary and rows that do not
// exist.
LogitMetric logit_difference_metric(std::int32_t answer, std::int32_t wrong, Index row = -1);
// -log p(answer) in nats.
LogitMetric loss_metric(std::int32_t answer, Index row = -1);
// p(answer).
LogitMetric probability_metric(std::int32_t answer, Index row = -1);
// KL divergence of the row's distribution from that of `reference` [N, V], in nats: the sum of
// p_reference (log p_reference - log p).
LogitMetric divergence_metric(const Tensor& reference, Index row = -1);

}  // namespace headlight
