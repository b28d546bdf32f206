#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight {

struct GradientCheckOptions {
  double epsilon = 1e-6;             // step of the central differences
  double relative_tolerance = 1e-5;  // |analytic - numeric| <= absolute + relative * |numeric|
  double absolute_tolerance = 1e-7;
  Index elements_per_input = 0;  // size of a random sample; 0: all
  std::uint64_t seed = 1;        // for the output weights and the sample
};

struct GradientCheckResult {
  Index elements = 0;        // number of gradients compared
  double largest_error = 0;  // |analytic - numeric| / max(|numeric|, absolute / relative)
  bool passed = true;
  std::string worst;  // position and values of the largest difference, if the check failed
};

// Compares the gradients of `function` with central differences, for every input that requires a
// gradient. Throws Error if such an input is not float64; other inputs may have any type. The
// output must be float64 and may have any shape: its elements get random weights. The function must
// be deterministic.
GradientCheckResult check_gradients(
    const std::function<Tensor(const std::vector<Tensor>&)>& function,
    const std::vector<Tensor>& inputs, const GradientCheckOptions& options = {});

}  // namespace headlight
