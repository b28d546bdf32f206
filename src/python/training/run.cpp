#include "python/training/run.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "headlight/runs/run_history.h"
#include "python/analysis/figure.h"
#include "python/autograd/arrays.h"
#include "python/bindings.h"
#include "python/model/inputs.h"
#include "python/model/model.h"
#include "show/plot/svg.h"

namespace headlight::python {
namespace {

using namespace nb::literals;

// Returns one field of all points.
Array field_of(const std::vector<HistoryPoint>& points, double HistoryPoint::*field) {
  std::vector<double> values;
  for (const HistoryPoint& point : points) {
    values.push_back(point.*field);
  }
  return array_of(Tensor::from(values, {std::ssize(values)}), Access::writable);
}

nb::dict metrics_of(const TrainedRun& run) {
  const RunHistory history = [&] {
    const nb::gil_scoped_release released;
    return read_run_history(run.path);
  }();
  nb::dict metrics;
  metrics["step"] = field_of(history.training, &HistoryPoint::updates).object;
  metrics["loss"] = field_of(history.training, &HistoryPoint::loss).object;
  metrics["tokens"] = field_of(history.training, &HistoryPoint::tokens).object;
  metrics["seconds"] = field_of(history.training, &HistoryPoint::seconds).object;
  metrics["validation_step"] = field_of(history.validation, &HistoryPoint::updates).object;
  metrics["validation_loss"] = field_of(history.validation, &HistoryPoint::loss).object;
  return metrics;
}

std::shared_ptr<Model> model_of(TrainedRun& run) {
  if (run.model == nullptr) {
    LoadedModel loaded = [&] {
      const nb::gil_scoped_release released;
      return load_model(run.path);
    }();
    if (run.model == nullptr) {  // another thread may have been faster
      run.model =
          std::make_shared<Model>(std::move(loaded.model), std::move(loaded.tokenizer), run.path);
    }
  }
  return run.model;
}

TrainedRun open_run(const PathInput& input) {
  read_run_history(input.path);  // throws for a directory without a run
  return {input.path};
}

}  // namespace

void add_run(nb::module_& module) {
  nb::class_<TrainedRun>(module, "Run", "A training run in a directory.")
      .def_ro("path", &TrainedRun::path, "Directory of the run.")
      .def_prop_ro("model", &model_of, "Model of the best checkpoint, else of the latest.")
      .def_prop_ro("metrics", &metrics_of,
                   nb::sig("def metrics(self) -> dict[str, numpy.typing.NDArray[numpy.float64]]"),
                   "step, loss (nats a token), tokens and seconds of every step; validation_step "
                   "and validation_loss of every evaluation.")
      .def_prop_ro(
          "stopped", [](const TrainedRun& run) { return run.result && run.result->stopped; },
          "Whether the callback stopped the run before max_iters.")
      .def("_repr_html_",
           [](const TrainedRun& run) {
             const RunHistory history = read_run_history(run.path);
             return history.training.empty() ? escape_markup(run.path.string())
                                             : loss_figure({run}).source;
           })
      .def("__repr__",
           [](const TrainedRun& run) { return "<headlight.Run: " + run.path.string() + ">"; });
  module.def("open_run", &open_run, "path"_a, "Returns the run in a directory.");
}

}  // namespace headlight::python
