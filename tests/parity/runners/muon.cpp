#include "headlight/autograd/autograd.h"
#include "headlight/ops/elementwise.h"
#include "headlight/ops/layout.h"
#include "headlight/ops/reduce.h"
#include "parity/runners/runners.h"

namespace headlight::parity {
namespace {

// Runs Muon steps on a matrix [R, C] with gradients [updates, R, C].
void run_muon(Run& run) {
  Tensor matrix = run.input("matrix").detach().clone();
  matrix.set_requires_grad();
  const Tensor gradients = run.input("gradients").detach();
  const auto blocks = run.attribute<Index>("row_blocks", 1);
  const std::vector<Index> rows(static_cast<std::size_t>(blocks), matrix.size(0) / blocks);
  Muon optimizer({{"matrix", matrix, rows}}, muon_options(run));
  for (Index update = 0; update < gradients.size(0); ++update) {
    const Tensor gradient = slice(gradients, 0, update, update + 1);
    matrix.zero_grad();
    backward(sum(matrix * reshape(gradient, matrix.shape())));
    optimizer.step(run.attribute("learning_rate", 0.0));
  }
  run.output("matrix", matrix.detach());
  run.output("momentum_buffer", optimizer.state().front().second);
}

}  // namespace

MuonOptions muon_options(const Run& run) {
  return {.momentum = run.attribute("momentum", 0.0),
          .nesterov = run.attribute("nesterov", false),
          .weight_decay = run.attribute("weight_decay", 0.0),
          .adjust_lr_fn = parse_name<LearningRateAdjustment>(
              "adjust_lr_fn", run.attribute<std::string>("adjust_lr_fn", ""))};
}

Runners muon_runners() { return {{"muon", run_muon}}; }

}  // namespace headlight::parity
