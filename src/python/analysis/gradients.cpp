#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "headlight/interpret/effects/metric_gradients.h"
#include "headlight/ops/cross_entropy.h"
#include "interpret/layer_maps.h"
#include "python/analysis/metric.h"
#include "python/bindings.h"
#include "python/model/cache.h"
#include "python/model/forward.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

LogitMetric batch_metric(const Model& model, const nb::object& metric, const Batch& batch) {
  if (nb::isinstance<nb::str>(metric)) {
    require_value(nb::cast<std::string>(metric) == "loss", "metric",
                  "expected \"loss\", a function or a Metric, got ",
                  nb::cast<std::string>(nb::repr(metric)));
    require_causal(model.gpt());
    return [targets = batch.targets](const Tensor& logits) {
      return cross_entropy(logits, targets, {.ignore_index = kIgnoreTarget});
    };
  }
  return read_metric(metric, batch.offsets);
}

nb::tuple grad(Model& model, const Inputs& inputs, const nb::object& metric,
               const std::vector<std::string>& names) {
  const Batch batch = batch_of(model, inputs, {});
  const std::vector<PointRange> points = points_of(names);
  const LogitMetric measured = batch_metric(model, metric, batch);
  const MetricGradients result = [&] {
    const Model::Use use(model);
    return metric_gradients(model.gpt(), batch, measured, points);
  }();
  NamedTensors values;
  NamedTensors gradients;
  for (const PointGradient& point : result.points) {
    const bool is_map = items_of(point.site.point) == PointItems::maps;
    const std::string name = point_name(point.site.point, point.site.layer) +
                             (is_map ? concat_text("/", point.site.sequence) : "");
    values.emplace_back(name, point.value);
    gradients.emplace_back(name, point.gradient);
  }
  const std::vector<std::vector<std::int32_t>> ids = sequences_of(batch);
  return nb::make_tuple(result.metric, activation_cache(model, values, ids),
                        activation_cache(model, gradients, ids));
}

}  // namespace

void add_metric_gradients(nb::class_<Model>& model) {
  model.def(
      "grad", &grad, "inputs"_a, "metric"_a, "names"_a,
      nb::sig("def grad(self, inputs: headlight.types.ArrayLike, metric: str | Metric | "
              "collections.abc.Callable[[Tensor], Tensor | "
              "tuple[float, headlight.types.ArrayLike]], names: collections.abc.Sequence[str]) -> "
              "tuple[float, headlight.cache.ActivationCache, headlight.cache.ActivationCache]"),
      "Computes a metric of the logits, the values at points and the metric's gradients there.\n\n"
      "Parameters\n----------\n"
      "inputs : B sequences; T is the length of the longest one.\n"
      "metric : \"loss\", the mean loss in nats of the next token; a Metric such as "
      "logit_difference(), its mean over the sequences; or a function of the logits, a Tensor "
      "[B, T, V] with zeros behind the end of a sequence. It returns a Tensor of one element, "
      "computed with headlight.ops, or a number and its gradient [B, T, V].\n"
      "names : points, short (\"z\" of every layer, \"z.3\") or TransformerLens's.\n\n"
      "Returns\n-------\n"
      "The metric, and the values and gradients by TransformerLens's names in its shapes, as in "
      "run_with_cache(). A gradient includes all paths from its point to the logits.\n\n"
      "Raises\n------\n"
      "ValueError : for a metric without a gradient, and for points that the model does not "
      "compute.");
}

}  // namespace headlight::python
