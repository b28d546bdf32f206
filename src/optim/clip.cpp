#include "headlight/optim/clip.h"

#include <algorithm>
#include <cmath>

#include "optim/sum_of_squares.h"

namespace headlight {

double gradient_norm(const NamedTensors& parameters) {
  std::vector<Tensor> gradients;
  for (const auto& [name, parameter] : parameters) {
    if (parameter.grad().defined()) {
      gradients.push_back(parameter.grad());
    }
  }
  double sum = 0;
  for (const double each : sums_of_squares(gradients)) {
    sum += each;
  }
  return std::sqrt(sum);
}

double clip_scale(double norm, double max_norm) {
  require(max_norm >= 0, "[clip_scale] expected a norm of at least 0, got ", max_norm);
  require(std::isfinite(norm), "[clip_scale] expected a finite norm, got ", norm);
  return max_norm == 0 ? 1.0 : std::min(1.0, max_norm / (norm + 1e-6));
}

}  // namespace headlight
