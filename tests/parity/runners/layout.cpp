#include "headlight/ops/layout.h"

#include "headlight/ops/indexing.h"
#include "parity/runners/runners.h"

namespace headlight::parity {
namespace {

Index number(const Run& run, const std::string& name) { return run.attribute(name, Index{0}); }

std::optional<Index> some_axis(const Run& run) {
  return run.attributes().contains("axis") ? std::optional(number(run, "axis")) : std::nullopt;
}

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
      {"select",
       [](Run& run) {
         run.output("y", select(run.input("x"), number(run, "axis"), number(run, "index")));
       }},
      {"unsqueeze",
       [](Run& run) { run.output("y", unsqueeze(run.input("x"), number(run, "axis"))); }},
      {"squeeze", [](Run& run) { run.output("y", squeeze(run.input("x"), some_axis(run))); }},
      {"gather",
       [](Run& run) {
         run.output("y", gather(run.input("x"), number(run, "axis"), run.input("indices")));
       }},
      {"argmax",
       [](Run& run) {
         run.output("y", argmax(run.input("x"), some_axis(run), run.attribute("keepdim", false)));
       }},
      {"topk",
       [](Run& run) {
         const TopK found = topk(run.input("x"), number(run, "k"), number(run, "axis"));
         run.output("values", found.values);
         run.output("indices", found.indices);
       }},
      {"contiguous", [](Run& run) { run.output("y", contiguous(run.input("x"))); }},
      {"concat", [](Run& run) { run.output("y", concat(parts_of(run), number(run, "axis"))); }},
      {"stack", [](Run& run) { run.output("y", stack(parts_of(run), number(run, "axis"))); }},
  };
}

}  // namespace headlight::parity
