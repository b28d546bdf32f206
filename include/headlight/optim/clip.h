#pragma once

#include "headlight/tensor/named_tensors.h"

namespace headlight {

// Euclidean norm of all gradients together; parameters without a gradient count as 0. Summed in
// float64, in an order that depends on the shapes alone.
double gradient_norm(const NamedTensors& parameters);

// What gradients of this norm must be multiplied by so that it becomes at most max_norm; 1 when
// max_norm is 0 (clipping off). Pascanu, Mikolov and Bengio, arXiv 1211.5063; the constant 1e-6 is
// that of torch.nn.utils.clip_grad_norm_. Throws Error for a norm that is not finite: nothing makes
// an update of such gradients sensible.
double clip_scale(double norm, double max_norm);

// Scales the gradients in place and returns their norm before. Optimizers do the same in passing
// when they are given clip_scale(). Throws Error, with the gradients untouched, when the norm is
// not finite.
double clip_gradients(const NamedTensors& parameters, double max_norm);

}  // namespace headlight
