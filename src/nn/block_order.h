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

// Calls normalize() and rotate() for queries and keys in the model's order. normalize() is not
// called if the model has no such norms.
template <class Normalize, class Rotate>
void prepare_queries_and_keys(const GptConfig& config, const Normalize& normalize,
                              const Rotate& rotate) {
  if (config.qk_norm && !config.qk_norm_last) {
    normalize();
  }
  rotate();
  if (config.qk_norm && config.qk_norm_last) {
    normalize();
  }
}

// Runs the first steps of a layer, up to its attention. run_block() has the parts of a backend.
template <class Backend>
void begin_block(const BlockPlan& plan, Backend& backend) {
  backend.visit(Point::resid_pre);
  if (plan.parallel || plan.norm == NormPosition::pre) {
    backend.normalize(Branch::attention);
  }
  backend.compute(Branch::attention);
}

// Runs the steps of a layer in order. Both implementations use it: Block, with tensors that record
// gradients, and LayerStep of generate/, with packed weights. A backend provides:
//   visit(point)       shows the residual stream to the hook, if the backend has hooks
//   normalize(branch)  applies the branch's norm to the residual stream
//   compute(branch)    computes the branch from the last normalised vectors, or from the stream; a
//                      parallel layer computes both branches before it adds any
//   add(branch)        adds the branch's output to the stream
template <class Backend>
void run_block(const BlockPlan& plan, Backend& backend) {
  begin_block(plan, backend);
  if (plan.parallel) {
    if (!plan.shared_norm) {
      backend.normalize(Branch::mlp);
    }
    backend.compute(Branch::mlp);
    backend.add(Branch::attention);
    backend.add(Branch::mlp);
    backend.visit(Point::resid_post);
    return;
  }
  const auto finish = [&](Branch branch) {
    backend.add(branch);
    if (plan.norm == NormPosition::post) {
      backend.normalize(branch);
    }
  };
  finish(Branch::attention);
  backend.visit(Point::resid_mid);
  if (plan.mlp_width) {
    if (plan.norm == NormPosition::pre) {
      backend.normalize(Branch::mlp);
    }
    backend.compute(Branch::mlp);
    finish(Branch::mlp);
  }
  backend.visit(Point::resid_post);
}

}  // namespace headlight
