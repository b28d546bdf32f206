#pragma once

#include "headlight/tensor/named_tensors.h"

namespace headlight {

// Returns the Euclidean norm of all gradients together; parameters without a gradient count as 0.
// Sums in float64 in an order that depends only on the shapes.
double gradient_norm(const NamedTensors& parameters);

// Returns the factor that limits gradients of this norm to max_norm, for Optimizer::step(); 1 when
// max_norm is 0 (clipping off). Pascanu, Mikolov and Bengio, arXiv 1211.5063; the constant 1e-6 is
// that of torch.nn.utils.clip_grad_norm_. Throws Error for a norm that is not finite, because no
// factor makes a step with such gradients useful.
double clip_scale(double norm, double max_norm);

}  // namespace headlight
