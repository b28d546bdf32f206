#include "headlight/optim/clip.h"

#include <algorithm>
#include <cmath>

#include "kernels/loops.h"
#include "optim/sum_of_squares.h"

namespace headlight {
double gradient_norm(const NamedTensors& parameters) {
  double sum = 0;
  for (const auto& [name, parameter] : parameters) {
    if (parameter.grad().defined()) {
      sum += sum_of_squares(parameter.grad());
    }
  }
  return std::sqrt(sum);
}

double clip_scale(double norm, double max_norm) {
  require(max_norm >= 0, "[clip_scale] expected a norm of at least 0, got ", max_norm);
  require(std::isfinite(norm), "[clip_scale] expected a finite norm, got ", norm);
  return max_norm == 0 ? 1.0 : std::min(1.0, max_norm / (norm + 1e-6));
}

double clip_gradients(const NamedTensors& parameters, double max_norm) {
  const double norm = gradient_norm(parameters);
  const double scale = clip_scale(norm, max_norm);
  for (const auto& [name, parameter] : parameters) {
    Tensor gradient = parameter.grad();
    if (scale < 1.0 && gradient.defined()) {
      dispatch_floating(gradient.dtype(), "clip_gradients", [&](auto zero) {
        using T = decltype(zero);
        kernels::loops<T>().scale(static_cast<T>(scale), gradient.mutable_data<T>(),
                                  gradient.numel());
      });
    }
  }
  return norm;
}

}  // namespace headlight
