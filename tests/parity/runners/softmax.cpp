#include "headlight/ops/softmax.h"

#include "headlight/ops/mask.h"
#include "parity/runners/runners.h"

namespace headlight::parity {
namespace {

Runner along_axis(Tensor (*op)(const Tensor&, Index)) {
  return [op](Run& run) { run.output("y", op(run.input("x"), run.attribute("axis", Index{-1}))); };
}

Runner triangle(Tensor (*op)(const Tensor&, Index)) {
  return
      [op](Run& run) { run.output("y", op(run.input("x"), run.attribute("diagonal", Index{0}))); };
}

void run_causal_mask(Run& run) {
  const auto queries = run.attribute("queries", Index{0});
  const auto keys = run.attribute("keys", Index{0});
  run.output("y", queries == keys ? causal_mask(queries) : causal_mask(queries, keys));
}

void run_masked_fill(Run& run) {
  run.output("y", masked_fill(run.input("x"), run.input("mask"), run.attribute("value", 0.0)));
}

}  // namespace

Runners softmax_runners() {
  return {{"softmax", along_axis(softmax)},
          {"log_softmax", along_axis(log_softmax)},
          {"masked_softmax",
           [](Run& run) { run.output("y", masked_softmax(run.input("x"), run.input("mask"))); }}};
}

Runners mask_runners() {
  return {
      {"masked_fill", run_masked_fill},
      {"where",
       [](Run& run) {
         run.output("y", where(run.input("condition"), run.input("a"), run.input("b")));
       }},
      {"tril", triangle(tril)},
      {"triu", triangle(triu)},
      {"causal_mask", run_causal_mask},
      {"padding_mask",
       [](Run& run) {
         run.output("y", padding_mask(run.numbers("lengths"), run.attribute("width", Index{0})));
       }},
      {"mask_from_keep", [](Run& run) { run.output("y", mask_from_keep(run.input("keep"))); }},
      {"combine_masks",
       [](Run& run) { run.output("y", combine_masks(run.input("a"), run.input("b"))); }},
  };
}

}  // namespace headlight::parity
