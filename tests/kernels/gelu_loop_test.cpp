#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/loops.h"
#include "support/cpu_variants.h"
#include "support/tensors.h"

using namespace headlight;
using namespace headlight::test;
using kernels::Loops;

namespace {

constexpr double kRootTwoOverPi = 0.79788456080286535588;
constexpr double kUnit = 0x1p-23;

// Hendrycks and Gimpel, arXiv 1606.08415, and its derivative, in double.
double inner(double x) { return kRootTwoOverPi * (x + 0.044715 * x * x * x); }

double gelu_of(double x) { return 0.5 * x * (1 + std::tanh(inner(x))); }

double slope_of(double x) {
  const double t = std::tanh(inner(x));
  const double inner_slope = kRootTwoOverPi * (1 + 3 * 0.044715 * x * x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner_slope;
}

template <class T>
std::vector<T> apply(void (*loop)(const T*, T*, Index), const std::vector<T>& x) {
  std::vector<T> y(x.size());
  loop(x.data(), y.data(), static_cast<Index>(x.size()));
  return y;
}

template <class T>
std::vector<T> slopes(const Loops<T>& loops, const std::vector<T>& x, T y_grad) {
  const std::vector<T> y_grads(x.size(), y_grad);
  std::vector<T> x_grad(x.size());
  loops.gelu_backward(x.data(), y_grads.data(), x_grad.data(), static_cast<Index>(x.size()));
  return x_grad;
}

// From -6 to 6, and tiny numbers of either sign.
template <class T>
std::vector<T> interesting() {
  std::vector<T> x{T(1e-30), T(-1e-30), T(1e-4), T(-1e-4)};
  for (double value = -6; value <= 6; value += 1.0 / 1031) {
    x.push_back(static_cast<T>(value));
  }
  return x;
}

}  // namespace

TEST_CASE("gelu follows the tanh form, with a relative error that grows only where it fades away") {
  with_each_variant([] {
    const std::vector<float> x = interesting<float>();
    const std::vector<float> y = apply(kernels::loops<float>().gelu, x);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double v = static_cast<double>(x[i]);
      const double allowed = (3 + 3 * std::max(0.0, -inner(v))) * kUnit * std::abs(gelu_of(v));
      worst = std::max(worst, std::abs(static_cast<double>(y[i]) - gelu_of(v)) / allowed);
    }
    CHECK(worst <= 1);
    CHECK(worst > 0.1);  // else the sample would hold no rounding
  });
}

TEST_CASE("the slope of gelu is right to four units of one, where it crosses zero too") {
  with_each_variant([] {
    const std::vector<float> x = interesting<float>();
    const std::vector<float> x_grad = slopes(kernels::loops<float>(), x, 1.0F);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = static_cast<double>(x_grad[i]) - slope_of(static_cast<double>(x[i]));
      worst = std::max(worst, std::abs(error));
    }
    CHECK(worst <= 4 * kUnit);
    CHECK(worst > 0.1 * kUnit);
  });
}

TEST_CASE("gelu in double agrees with its formula and its slope with a difference quotient") {
  const std::vector<double> x = interesting<double>();
  const std::vector<double> y = apply(kernels::loops<double>().gelu, x);
  const std::vector<double> x_grad = slopes(kernels::loops<double>(), x, -3.0);
  for (std::size_t i = 0; i < x.size(); i += 7) {
    const double step = 1e-5;
    CHECK(y[i] == Approx(gelu_of(x[i])).epsilon(1e-13).margin(1e-14));
    CHECK(x_grad[i] ==
          Approx(-3 * (gelu_of(x[i] + step) - gelu_of(x[i] - step)) / (2 * step)).margin(1e-9));
  }
}

TEST_CASE("gelu and its slope end at zero on the left and at the identity on the right") {
  for_all_loops([]<class T>(const Loops<T>& loops, double) {
    const std::vector<T> x{T{-50}, T(-1e30), std::numeric_limits<T>::lowest(),
                           T{50},  T(1e30),  std::numeric_limits<T>::max()};
    const std::vector<T> y = apply(loops.gelu, x);
    const std::vector<T> slope = slopes(loops, x, T{2});
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(y[i] == (x[i] < 0 ? T{0} : x[i]));
      CHECK(slope[i] == (x[i] < 0 ? T{0} : T{2}));
    }
    const std::vector<T> nothing{std::numeric_limits<T>::quiet_NaN()};
    CHECK(std::isnan(apply(loops.gelu, nothing)[0]));
    CHECK(std::isnan(slopes(loops, nothing, T{1})[0]));
  });
}
