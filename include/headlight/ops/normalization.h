#pragma once

#include "headlight/base/choices.h"
#include "headlight/tensor/tensor.h"

namespace headlight {

enum class NormKind {
  layer,  // by mean and variance (Ba, Kiros and Hinton, arXiv 1607.06450)
  rms,    // by root mean square (Zhang and Sennrich, arXiv 1910.07467)
};

template <>
inline constexpr auto kChoices<NormKind> =
    std::to_array<Choice<NormKind>>({{"layer", NormKind::layer}, {"rms", NormKind::rms}});

// Parameters of a norm over the last axis.
struct NormParameters {
  Tensor gain;   // [C]; undefined: 1
  Tensor shift;  // [C]; undefined: 0
  double epsilon = 1e-5;
  NormKind kind = NormKind::layer;
  bool gain_plus_one = false;  // multiplies by 1 + gain, as Gemma does
};

// Normalises the last axis of x [..., C] by layer_norm() or rms_norm(), as the parameters say, and
// adds the shift for either kind. Throws Error if shapes or types do not match.
Tensor normalize(const Tensor& x, const NormParameters& norm);

// Normalises the last axis: (x - mean) / sqrt(population variance + epsilon) * gain + shift.
// x [..., C]; gain and shift [C], either may be undefined (1 and 0).
// Ba, Kiros and Hinton, arXiv 1607.06450.
Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& shift, double epsilon = 1e-5);

// Scales the last axis: x / sqrt(mean(x^2) + epsilon) * gain. x [..., C]; gain [C] may be undefined
// (1). Throws Error if shapes or types do not match. Zhang and Sennrich, arXiv 1910.07467.
Tensor rms_norm(const Tensor& x, const Tensor& gain, double epsilon = 1e-5);

struct BatchNormOptions {
  bool training = true;   // normalises by this batch's statistics and updates the running ones
  double momentum = 0.1;  // weight of this batch in the running statistics
  double epsilon = 1e-5;
};

// Running statistics of batch_norm; both [C], updated in place during training.
struct RunningStatistics {
  Tensor mean;
  Tensor variance;  // unbiased, as PyTorch keeps it
};

// Normalises each channel over the batch: x [N, C] or [N, C, L]; gain and shift [C], either may be
// undefined (1 and 0). Throws Error for training with fewer than two values per channel.
// Ioffe and Szegedy, arXiv 1502.03167.
Tensor batch_norm(const Tensor& x, const Tensor& gain, const Tensor& shift,
                  RunningStatistics& running, const BatchNormOptions& options = {});

}  // namespace headlight
