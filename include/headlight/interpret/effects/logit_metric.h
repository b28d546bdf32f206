#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "headlight/base/choices.h"
#include "headlight/base/index.h"
#include "headlight/tensor/tensor.h"

// Metrics of logits, for gradients and patching.
namespace headlight {

// A scalar from the logits [N, V] of a pass: tensor ops where gradients are needed. A metric of one
// row names it, so that a pass computes no other logits.
class LogitMetric {
 public:
  LogitMetric() = default;
  // A function of all logits [N, V]. The first condition comes first because the second, for a
  // LogitMetric, asks whether it can be copied, and so for this constructor again.
  template <class Function>
  requires(!std::same_as<Function, LogitMetric> &&
           std::convertible_to<Function, std::function<Tensor(const Tensor&)>>)
      LogitMetric(Function of_logits)
      : function_(std::move(of_logits)) {}
  // A function of the logits [V] of a row; -1: the last row.
  LogitMetric(Index row, std::function<Tensor(const Tensor&)> of_row);

  explicit operator bool() const { return static_cast<bool>(function_); }
  // The only row that the metric reads in a pass of `rows` rows; nullopt: it reads all. Throws
  // Error about "metric" if there is no such row.
  std::optional<Index> row(Index rows) const;
  // The metric from the logits that it reads: [1, V] of its row, or all, [N, V].
  Tensor of_read(const Tensor& logits) const;
  // The metric from all logits [N, V].
  Tensor operator()(const Tensor& logits) const;

 private:
  std::function<Tensor(const Tensor&)> function_;
  std::optional<Index> row_;
};

// The logit of `answer` in row `row` of the logits; -1: the last row. All metrics below throw Error
// about "metric" for ids outside the vocabulary and rows that do not exist.
LogitMetric logit_metric(std::int32_t answer, Index row = -1);
// The logit of `answer` minus that of `wrong`.
LogitMetric logit_difference_metric(std::int32_t answer, std::int32_t wrong, Index row = -1);
// log p(answer) in nats.
LogitMetric log_probability_metric(std::int32_t answer, Index row = -1);
// -log p(answer) in nats.
LogitMetric loss_metric(std::int32_t answer, Index row = -1);
// p(answer).
LogitMetric probability_metric(std::int32_t answer, Index row = -1);
// KL divergence of the row's distribution from that of `reference` [N, V], in nats: the sum of
// p_reference (log p_reference - log p).
LogitMetric divergence_metric(const Tensor& reference, Index row = -1);

// Metrics of patching by their names.
enum class MetricKind {
  logit_difference,  // log p(answer) - log p(wrong), of answers of any length
  probability,       // p(answer), of one token, like the next two
  log_probability,   // log p(answer) in nats
  loss,              // -log p(answer) in nats
  kl,                // divergence from the distribution after the clean text, in nats
};
template <>
inline constexpr auto kChoices<MetricKind> =
    std::to_array<Choice<MetricKind>>({{"logit_difference", MetricKind::logit_difference},
                                       {"probability", MetricKind::probability},
                                       {"log_probability", MetricKind::log_probability},
                                       {"loss", MetricKind::loss},
                                       {"kl", MetricKind::kl}});

// Returns whether the metric rises without a head that the model needs: true for the loss and the
// divergence. Logit differences and probabilities fall.
constexpr bool rises_when_needed(MetricKind kind) {
  return kind == MetricKind::loss || kind == MetricKind::kl;
}

// Returns the name in texts, such as "log-probability".
const char* metric_noun(MetricKind kind);
// Returns " nats", or "" for a probability.
const char* metric_unit(MetricKind kind);

}  // namespace headlight
