#include "headlight/ops/matmul.h"

#include "headlight/ops/low_rank.h"
#include "parity/runners/runners.h"

namespace headlight::parity {
namespace {

void run_einsum(Run& run) {
  const auto equation = run.attribute<std::string>("equation", "");
  const Tensor b = run.input("b");
  run.output("y",
             b.defined() ? einsum(equation, run.input("a"), b) : einsum(equation, run.input("a")));
}

void run_linear(Run& run) {
  run.output("y", linear(run.input("x"), run.input("weight"), run.input("bias"),
                         parse_name<Precision>(
                             "dtype", run.attribute<std::string>("precision", "float32"))));
}

// One update of consecutive rows of the weight.
std::vector<LowRankUpdate> update_of(Run& run) {
  return {{.a = run.input("a"),
           .b = run.input("b"),
           .first_row = run.attribute<Index>("first_row", 0),
           .scale = run.attribute<double>("scale", 1),
           .lengths = run.input("lengths")}};
}

void run_low_rank_linear(Run& run) {
  run.output(
      "y", low_rank_linear(run.input("x"), run.input("weight"), run.input("bias"), update_of(run)));
}

void run_with_row_lengths(Run& run) {
  run.output("y", with_row_lengths(run.input("product"), run.input("weight"), run.input("bias"),
                                   update_of(run)));
}

}  // namespace

Runners matmul_runners() {
  return {{"matmul", [](Run& run) { run.output("y", matmul(run.input("a"), run.input("b"))); }},
          {"einsum", run_einsum},
          {"linear", run_linear},
          {"low_rank_linear", run_low_rank_linear},
          {"updated_weight",
           [](Run& run) { run.output("y", updated_weight(run.input("weight"), update_of(run))); }},
          {"with_row_lengths", run_with_row_lengths},
          {"row_lengths", [](Run& run) { run.output("y", row_lengths(run.input("x"))); }}};
}

}  // namespace headlight::parity
