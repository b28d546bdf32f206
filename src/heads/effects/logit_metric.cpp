#include "headlight/heads/effects/logit_metric.h"

#include "headlight/autograd/autograd.h"
#include "headlight/base/error.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/reduce.h"
#include "headlight/ops/softmax.h"

namespace headlight {
namespace {

Tensor metric_row(const Tensor& logits, Index row) {
  const Index rows = logits.size(0);
  require_value(row >= -rows && row < rows, "metric", "expected a row from ", -rows, " to ",
                rows - 1, ", got ", row);
  return select(logits, 0, row < 0 ? row + rows : row);  // [V]
}

Tensor at_id(const Tensor& row, std::int32_t id) {
  require_value(id >= 0 && id < row.size(0), "metric", "expected a token from 0 to ",
                row.size(0) - 1, ", got ", id);
  return select(row, 0, id);
}

}  // namespace

LogitMetric logit_difference_metric(std::int32_t answer, std::int32_t wrong, Index row) {
  return [=](const Tensor& logits) {
    const Tensor values = metric_row(logits, row);
    return at_id(values, answer) - at_id(values, wrong);
  };
}

LogitMetric log_probability_metric(std::int32_t answer, Index row) {
  return [=](const Tensor& logits) { return at_id(log_softmax(metric_row(logits, row)), answer); };
}

LogitMetric loss_metric(std::int32_t answer, Index row) {
  return [=](const Tensor& logits) { return -at_id(log_softmax(metric_row(logits, row)), answer); };
}

LogitMetric probability_metric(std::int32_t answer, Index row) {
  return [=](const Tensor& logits) { return at_id(softmax(metric_row(logits, row)), answer); };
}

LogitMetric divergence_metric(const Tensor& reference, Index row) {
  const NoGrad no_grad;
  const Tensor before = log_softmax(metric_row(reference.detach(), row));
  const Tensor weights = exp(before);
  return [=](const Tensor& logits) {
    return sum(weights * (before - log_softmax(metric_row(logits, row))));
  };
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
