#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/interpret/effects/logit_metric.h"
#include "python/autograd/arrays.h"

// Metrics of logits as arguments.
namespace headlight::python {

// A metric of the last row, or another row, of a text.
struct Metric {
  LogitMetric of_text;  // of [T, V]
  std::string name;
};

// Converts a Metric, or a Python function that returns a number or (number, gradient of the logits'
// shape). A function gets an array [T, V] of one text. With the offsets of a batch, it gets a
// Tensor [B, T, V] with zeros behind the end of a text, and may return a Tensor of one element. A
// Metric of a batch is the mean over its texts. Throws Error about "metric" for other values.
LogitMetric read_metric(nb::handle value, const std::optional<std::vector<Index>>& offsets = {});

}  // namespace headlight::python
