#include "headlight/ops/reduce.h"

#include "parity/runners/runners.h"

namespace headlight::parity {
namespace {

ReduceOptions options_of(const Run& run) {
  return {.axes = run.attribute<std::vector<Index>>("axes", {}),
          .keepdim = run.attribute("keepdim", false)};
}

Runner reduction(Tensor (*op)(const Tensor&, const ReduceOptions&)) {
  return [op](Run& run) { run.output("y", op(run.input("x"), options_of(run))); };
}

Runner spread(Tensor (*op)(const Tensor&, const ReduceOptions&, Index)) {
  return [op](Run& run) {
    run.output("y", op(run.input("x"), options_of(run), run.attribute("correction", Index{1})));
  };
}

}  // namespace

Runners reduce_runners() {
  return {{"sum", reduction(sum)},
          {"mean", reduction(mean)},
          {"max", reduction(max)},
          {"var", spread(var)},
          {"stddev", spread(stddev)},
          {"sum_to_shape", [](Run& run) {
             run.output("y", sum_to_shape(run.input("x"), shape_attribute(run, "shape")));
           }}};
}

}  // namespace headlight::parity
