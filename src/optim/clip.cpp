#include "headlight/optim/clip.h"

#include <algorithm>
#include <cmath>

#include "kernels/loops.h"
#include "kernels/parallel.h"

namespace headlight {
namespace {

double sum_of_squares(const Tensor& gradient) {
  return dispatch_floating(gradient.dtype(), "gradient_norm", [&](auto zero) {
    using T = decltype(zero);
    const T* values = gradient.data<T>();
    const Index chunks = kernels::chunk_count(gradient.numel(), kernels::kElementGrain);
    std::vector<double> partial(static_cast<std::size_t>(chunks));
    kernels::parallel_chunks(gradient.numel(), kernels::kElementGrain,
                             [&](Index, Index chunk, Index begin, Index end) {
                               partial[static_cast<std::size_t>(chunk)] =
                                   kernels::loops<T>().sum_of_squares(values + begin, end - begin);
                             });
    double sum = 0;
    for (const double part : partial) {
      sum += part;
    }
    return sum;
  });
}

}  // namespace

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
