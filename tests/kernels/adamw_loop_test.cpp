#include "kernels/loops.h"
#include "support/cpu_variants.h"
#include "support/test.h"

namespace adamw_loop_test {
// Reference: Loshchilov and Hutter, arXiv 1711.05101, Algorithm 2, for a single parameter.
struct ScalarAdamW {
  double parameter = 0;
  double mean = 0;
  double variance = 0;

  void step(double gradient, const kernels::AdamWStep& s) {
    const double g = gradient * s.gradient_scale;
    parameter -= s.learning_rate * s.weight_decay * parameter;
    mean = s.beta1 * mean + (1 - s.beta1) * g;
    variance = s.beta2 * variance + (1 - s.beta2) * g * g;
    const double unbiased_mean = mean / s.bias_correction1;
    const double unbiased_variance = variance / s.bias_correction2;
    parameter -= s.learning_rate * unbiased_mean / (std::sqrt(unbiased_variance) + s.epsilon);
  }
};

kernels::AdamWStep step_number(int t) {
  return {.learning_rate = 0.01,
          .beta1 = 0.9,
          .beta2 = 0.95,
          .epsilon = 1e-8,
          .weight_decay = 0.1,
          .bias_correction1 = 1 - std::pow(0.9, t),
          .bias_correction2 = 1 - std::pow(0.95, t),
          .gradient_scale = 0.5};
}

// Compares twenty steps of n parameters with the scalar reference.
template <class T>
void check_against_reference(const kernels::Loops<T>& loops, Index n, double tolerance) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<T> parameter(size);
  std::vector<T> mean(size, T{0});
  std::vector<T> variance(size, T{0});
  std::vector<ScalarAdamW> reference(size);
  for (std::size_t i = 0; i < size; ++i) {
    parameter[i] = static_cast<T>(RandomStream{1, 1}.normal(i));
    reference[i].parameter = static_cast<double>(parameter[i]);
  }
  for (int t = 1; t <= 20; ++t) {
    std::vector<T> gradient(size);
    for (std::size_t i = 0; i < size; ++i) {
      gradient[i] = static_cast<T>(RandomStream{2, static_cast<std::uint64_t>(t)}.normal(i));
      reference[i].step(static_cast<double>(gradient[i]), step_number(t));
    }
    loops.adamw({parameter.data(), gradient.data(), mean.data(), variance.data()}, step_number(t),
                n);
  }
  for (std::size_t i = 0; i < size; ++i) {
    CHECK(static_cast<double>(parameter[i]) == Approx(reference[i].parameter).margin(tolerance));
    CHECK(static_cast<double>(mean[i]) == Approx(reference[i].mean).margin(tolerance));
    CHECK(static_cast<double>(variance[i]) == Approx(reference[i].variance).margin(tolerance));
  }
}

TEST_CASE("twenty AdamW steps agree with a scalar reference in double") {
  for_all_loops([]<class T>(const kernels::Loops<T>& loops, double tolerance) {
    for (const Index n : {Index{1}, Index{7}, Index{16}, Index{67}}) {
      check_against_reference(loops, n, 10 * tolerance);
    }
  });
}

TEST_CASE("the first AdamW step has the size of the learning rate") {
  // m / (1 - beta1) = g and v / (1 - beta2) = g^2, so the step is lr * g / |g|.
  double parameter = 2;
  const double gradient = -3;
  double mean = 0;
  double variance = 0;
  kernels::AdamWStep step = step_number(1);
  step.weight_decay = 0;
  step.gradient_scale = 1;
  kernels::loops<double>().adamw({&parameter, &gradient, &mean, &variance}, step, 1);
  CHECK(parameter == Approx(2.01).epsilon(1e-9));
  CHECK(mean == Approx(-0.3));
  CHECK(variance == Approx(0.45));
}

TEST_CASE("AdamW without a gradient only decays the parameter") {
  double parameter = 2;
  const double gradient = 0;
  double mean = 0;
  double variance = 0;
  kernels::loops<double>().adamw({&parameter, &gradient, &mean, &variance}, step_number(1), 1);
  CHECK(parameter == Approx(2 * (1 - 0.01 * 0.1)).epsilon(1e-15));
}
}  // namespace adamw_loop_test
