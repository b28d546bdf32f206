#pragma once

#include "headlight/nn/architecture.h"
#include "headlight/nn/gpt.h"
#include "headlight/nn/layers.h"

namespace headlight {

inline constexpr NormPoints kFinalNorm{Point::ln_final_scale, Point::ln_final_normalized,
                                       Point::ln_final, 0};

inline NormPoints norm_points(Branch branch, Index layer) {
  return branch == Branch::attention
             ? NormPoints{Point::ln1_scale, Point::ln1_normalized, Point::ln1, layer}
             : NormPoints{Point::ln2_scale, Point::ln2_normalized, Point::ln2, layer};
}

// Runs the steps of a layer in order. Both implementations use it: Block, with tensors that record
// gradients, and LayerStep of generate/, with packed weights. A machine has these functions:
//   visit(point)       shows the residual stream to the hook, if the machine has hooks
//   normalize(branch)  applies the branch's norm to the residual stream
//   compute(branch)    computes the branch from the last normalised vectors, or from the stream; a
//                      parallel layer computes both branches before it adds any
//   add(branch)        adds the branch's output to the stream
template <class Machine>
void run_block(const BlockPlan& plan, Machine& machine) {
  if (plan.parallel) {
    machine.visit(Point::resid_pre);
    machine.normalize(Branch::attention);
    machine.compute(Branch::attention);
    if (!plan.shared_norm) {
      machine.normalize(Branch::mlp);
    }
    machine.compute(Branch::mlp);
    machine.add(Branch::attention);
    machine.add(Branch::mlp);
    machine.visit(Point::resid_post);
    return;
  }
  const auto run = [&](Branch branch) {
    if (plan.norm == NormPosition::pre) {
      machine.normalize(branch);
    }
    machine.compute(branch);
    machine.add(branch);
    if (plan.norm == NormPosition::post) {
      machine.normalize(branch);
    }
  };
  machine.visit(Point::resid_pre);
  run(Branch::attention);
  machine.visit(Point::resid_mid);
  if (plan.mlp_width) {
    run(Branch::mlp);
  }
  machine.visit(Point::resid_post);
}

}  // namespace headlight
