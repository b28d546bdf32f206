#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "headlight/interpret/effects/metric_gradients.h"
#include "headlight/ops/cross_entropy.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/reduce.h"
#include "interpret/layer_maps.h"
#include "interpret/point_values.h"
#include "python/analysis/metric.h"
#include "python/bindings.h"
#include "python/model/cache.h"
#include "python/model/forward.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

// Keeps an element of a point at the last token of each sequence, with its history.
class LastElement final : public ForwardHook {
 public:
  LastElement(const std::string& name, const Batch& batch)
      : range_(parse_point("metric", name)), batch_(batch) {
    const bool is_one = range_.items && range_.items->last == range_.items->first &&
                        (!is_in_layer(range_.point) || range_.layers.last == range_.layers.first);
    require_value(is_one && items_of(range_.point) == PointItems::features, "metric",
                  "expected \"loss\", a function, a Metric or an element of a point such as "
                  "mlp_post.3.17, got '",
                  name, "'");
  }

  const PointRange& range() const { return range_; }
  const Tensor& mean_value() const { return value_; }

  bool wants(Point point, Index layer) const override { return covers(range_, point, layer); }
  bool in_family_units() const override { return true; }
  Tensor visit(const HookSite&, const Tensor& value) override {
    const Index item = range_.items->first;
    require_value(item < value.size(1), "metric", "expected an element below ", value.size(1),
                  ", got ", item);
    value_ = mean(last_rows(slice(value, 1, item, item + 1), batch_));
    return value;
  }

 private:
  PointRange range_;
  const Batch& batch_;
  Tensor value_;
};

LogitMetric batch_metric(const Model& model, const nb::object& metric, const Batch& batch) {
  if (nb::isinstance<nb::str>(metric)) {
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
  const bool is_text = nb::isinstance<nb::str>(metric) && nb::cast<std::string>(metric) != "loss";
  const auto element =
      is_text ? std::make_shared<LastElement>(nb::cast<std::string>(metric), batch) : nullptr;
  const LogitMetric measured = element ? [element](const Tensor&) { return element->mean_value(); }
                                       : batch_metric(model, metric, batch);
  const MetricGradients result = [&] {
    const Model::Use use(model);
    std::optional<HookInUse> attached;
    if (element) {
      model.require_points({element->range()}, "metric");
      attached.emplace(model, element);
    }
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
      "metric : \"loss\", the mean loss in nats of the next token; an element of a point, such as "
      "\"feature.8.123\", at the last token, its mean over the sequences; a Metric such as "
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
