#include "headlight/ops/matmul.h"

#include "parity/runners.h"

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

}  // namespace

Runners matmul_runners() {
  return {{"matmul", [](Run& run) { run.output("y", matmul(run.input("a"), run.input("b"))); }},
          {"einsum", run_einsum},
          {"linear", run_linear}};
}

}  // namespace headlight::parity
