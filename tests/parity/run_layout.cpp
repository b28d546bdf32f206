#include "headlight/ops/layout.h"

#include "parity/runners.h"

namespace headlight::parity {
namespace {

Index number(const Run& run, const std::string& name) { return run.attribute(name, Index{0}); }

// Returns the inputs x0, x1, ...
std::vector<Tensor> parts_of(const Run& run) {
  std::vector<Tensor> parts;
  for (Index i = 0; i < number(run, "count"); ++i) {
    parts.push_back(run.input("x" + std::to_string(i)));
  }
  return parts;
}

void run_slice(Run& run) {
  run.output("y", slice(run.input("x"), number(run, "axis"), number(run, "start"),
                        number(run, "end"), number(run, "step")));
}

void run_split(Run& run) {
  const std::vector<Tensor> parts = split(run.input("x"), number(run, "size"), number(run, "axis"));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    run.output("y" + std::to_string(i), parts[i]);
  }
}

}  // namespace

Runners layout_runners() {
  return {
      {"reshape",
       [](Run& run) { run.output("y", reshape(run.input("x"), shape_attribute(run, "shape"))); }},
      {"expand",
       [](Run& run) { run.output("y", expand(run.input("x"), shape_attribute(run, "shape"))); }},
      {"transpose",
       [](Run& run) {
         run.output("y", transpose(run.input("x"), number(run, "a"), number(run, "b")));
       }},
      {"permute",
       [](Run& run) {
         run.output("y", permute(run.input("x"), run.attribute<std::vector<Index>>("order", {})));
       }},
      {"slice", run_slice},
      {"split", run_split},
      {"contiguous", [](Run& run) { run.output("y", contiguous(run.input("x"))); }},
      {"concat", [](Run& run) { run.output("y", concat(parts_of(run), number(run, "axis"))); }},
      {"stack", [](Run& run) { run.output("y", stack(parts_of(run), number(run, "axis"))); }},
  };
}

}  // namespace headlight::parity
