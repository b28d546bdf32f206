#pragma once

#include "headlight/tensor/tensor.h"

namespace headlight {

// Normalises the last axis: (x - mean) / sqrt(population variance + epsilon) * gain + shift.
// x [..., C]; gain and shift [C], either may be undefined (1 and 0).
// Ba, Kiros and Hinton, arXiv 1607.06450.
Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& shift, double epsilon = 1e-5);

struct BatchNormOptions {
  bool training = true;   // normalise with this batch's statistics and update the running ones
  double momentum = 0.1;  // weight of this batch in the running statistics
  double epsilon = 1e-5;
};

// What batch_norm learns apart from gradients; both [C], updated in place when training.
struct RunningStatistics {
  Tensor mean;
  Tensor variance;  // unbiased, as PyTorch keeps it
};

// Normalises each channel over the batch: x [N, C] or [N, C, L]; gain and shift [C], either may be
// undefined (1 and 0).
// Throws Error when training with fewer than two values a channel.
// Ioffe and Szegedy, arXiv 1502.03167.
Tensor batch_norm(const Tensor& x, const Tensor& gain, const Tensor& shift,
                  RunningStatistics& running, const BatchNormOptions& options = {});

}  // namespace headlight
