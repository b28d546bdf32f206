#include "cli/lab/head_distance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headlight/autograd/autograd.h"
#include "headlight/nn/recorder.h"

namespace headlight::cli::lab {
namespace {

double divergence_part(double p, double middle) { return p > 0 ? p * std::log2(p / middle) : 0; }

double distance(const float* p, const float* q, Index count) {
  double divergence = 0;
  for (Index i = 0; i < count; ++i) {
    const double a = double{p[i]};
    const double b = double{q[i]};
    const double middle = (a + b) / 2;
    divergence += (divergence_part(a, middle) + divergence_part(b, middle)) / 2;
  }
  return std::sqrt(std::clamp(divergence, 0.0, 1.0));
}

struct Sum {
  double value = 0;
  double count = 0;
};

// weights [H, T, T] of one sequence.
void add_pairs(const Tensor& weights, Sum& sum) {
  const Tensor rows = convert(to_contiguous(weights), DType::float32);
  const Index heads = rows.size(0);
  const Index side = rows.size(1);
  const float* values = rows.data<float>();
  for (Index a = 0; a < heads; ++a) {
    for (Index b = a + 1; b < heads; ++b) {
      for (Index t = 1; t < side; ++t) {
        sum.value +=
            distance(values + (a * side + t) * side, values + (b * side + t) * side, t + 1);
        ++sum.count;
      }
    }
  }
}

}  // namespace

double mean_head_distance(const Gpt& model, const Batch& batch) {
  const NoGrad no_grad;
  Recorder recorder;
  model.hidden(batch, {.recorder = &recorder});
  Sum sum;
  for (const auto& [layer, sequences] : recorder.layers()) {
    for (const Tensor& weights : sequences) {
      add_pairs(weights, sum);
    }
  }
  return sum.count > 0 ? sum.value / sum.count : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace headlight::cli::lab
