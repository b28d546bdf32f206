#include "headlight/interpret/effects/logit_metric.h"

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/reduce.h"
#include "headlight/ops/softmax.h"

namespace headlight {
namespace {

Tensor at_id(const Tensor& row, std::int32_t id) {
  require_value(id >= 0 && id < row.size(0), "metric", "expected a token from 0 to ",
                row.size(0) - 1, ", got ", id);
  return select(row, 0, id);
}

}  // namespace

LogitMetric::LogitMetric(Index row, std::function<Tensor(const Tensor&)> of_row)
    : function_(std::move(of_row)), row_(row) {}

std::optional<Index> LogitMetric::row(Index rows) const {
  if (!row_) {
    return {};
  }
  require_value(*row_ >= -rows && *row_ < rows, "metric", "expected a row from ", -rows, " to ",
                rows - 1, ", got ", *row_);
  return *row_ < 0 ? *row_ + rows : *row_;
}

Tensor LogitMetric::of_read(const Tensor& logits) const {
  return function_(row_ ? select(logits, 0, 0) : logits);
}

Tensor LogitMetric::operator()(const Tensor& logits) const {
  const std::optional<Index> only = row(logits.size(0));
  return of_read(only ? slice(logits, 0, *only, *only + 1) : logits);
}

LogitMetric logit_metric(std::int32_t answer, Index row) {
  return {row, [=](const Tensor& logits) { return at_id(logits, answer); }};
}

LogitMetric logit_difference_metric(std::int32_t answer, std::int32_t wrong, Index row) {
  return {row, [=](const Tensor& logits) { return at_id(logits, answer) - at_id(logits, wrong); }};
}

LogitMetric log_probability_metric(std::int32_t answer, Index row) {
  return {row, [=](const Tensor& logits) { return at_id(log_softmax(logits), answer); }};
}

LogitMetric loss_metric(std::int32_t answer, Index row) {
  return {row, [=](const Tensor& logits) { return -at_id(log_softmax(logits), answer); }};
}

LogitMetric probability_metric(std::int32_t answer, Index row) {
  return {row, [=](const Tensor& logits) { return at_id(softmax(logits), answer); }};
}

LogitMetric divergence_metric(const Tensor& reference, Index row) {
  const NoGrad no_grad;
  const Tensor before = LogitMetric(
      row, [](const Tensor& logits) { return log_softmax(logits); })(reference.detach());  // [V]
  const Tensor weights = exp(before);
  return {row, [=](const Tensor& logits) {
            const DType dtype = logits.dtype();
            return sum(convert(weights, dtype) * (convert(before, dtype) - log_softmax(logits)));
          }};
}

const char* metric_noun(MetricKind kind) {
  switch (kind) {
    case MetricKind::logit_difference:
      return "logit difference";
    case MetricKind::probability:
      return "probability";
    case MetricKind::log_probability:
      return "log-probability";
    case MetricKind::kl:
      return "KL divergence";
    case MetricKind::loss:
      break;
  }
  return "loss";
}

const char* metric_unit(MetricKind kind) { return kind == MetricKind::probability ? "" : " nats"; }

}  // namespace headlight
