#include "kernels/layers/activations.h"
#include "support/cpu_variants.h"
#include "support/test.h"

namespace activation_loop_test {
using kernels::activation_loops;

constexpr double kUnit = 0x1p-23;
constexpr double kLeast = 0x1p-149;  // the smallest denormal float

// Allowed error in float of a value at x. For results near 0, the exponent's rounding error grows
// with the exponent; 1 + erf is accurate to one unit of 1.
double allowed_error(Activation activation, double x, double value) {
  const double expected = std::abs(value);
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  switch (activation) {
    case Activation::gelu_tanh:
      return (3 + std::max(0.0, -3 * inner)) * kUnit * expected;
    case Activation::gelu_erf:
      return 3 * kUnit * expected + kUnit * std::abs(x);
    default:
      return (3 + std::max(0.0, -x)) * kUnit * expected + kLeast;
  }
}

constexpr Activation kAll[] = {Activation::gelu_tanh, Activation::gelu_erf, Activation::relu,
                               Activation::relu2, Activation::silu};
constexpr Activation kSmooth[] = {Activation::gelu_tanh, Activation::gelu_erf, Activation::silu};

template <class T>
std::vector<T> apply(Activation activation, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  activation_loops<T>(activation).value(x.data(), y.data(), static_cast<Index>(x.size()));
  return y;
}

template <class T>
std::vector<T> slopes(Activation activation, const std::vector<T>& x, T y_grad) {
  const std::vector<T> y_grads(x.size(), y_grad);
  std::vector<T> x_grad(x.size());
  activation_loops<T>(activation)
      .backward(x.data(), y_grads.data(), x_grad.data(), static_cast<Index>(x.size()));
  return x_grad;
}

// Returns numbers from -6 to 6, and tiny numbers of either sign.
template <class T>
std::vector<T> interesting() {
  std::vector<T> x{T(1e-30), T(-1e-30), T(1e-4), T(-1e-4)};
  for (double value = -6; value <= 6; value += 1.0 / 1031) {
    x.push_back(static_cast<T>(value));
  }
  return x;
}

template <class Body>
void for_both_types(const Body& body) {
  with_each_variant([&] { body(float{}); });
  INFO("float64");
  body(double{});
}

// Values and gradients of float64 are compared with PyTorch's (tests/parity).
TEST_CASE("activations of float agree with float64, and so do their derivatives") {
  with_each_variant([] {
    const std::vector<float> x = interesting<float>();
    const std::vector<double> wide(x.begin(), x.end());
    for (const Activation activation : kAll) {
      INFO(name_of(activation));
      const std::vector<double> values = apply(activation, wide);
      const std::vector<double> expected_slopes = slopes(activation, wide, 1.0);
      const std::vector<float> y = apply(activation, x);
      const std::vector<float> x_grad = slopes(activation, x, 1.0F);
      double worst = 0;
      double worst_slope = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double error = std::abs(static_cast<double>(y[i]) - values[i]);
        worst =
            std::max(worst, error == 0 ? 0 : error / allowed_error(activation, wide[i], values[i]));
        worst_slope =
            std::max(worst_slope, std::abs(static_cast<double>(x_grad[i]) - expected_slopes[i]));
      }
      CHECK(worst <= 1);
      CHECK((worst > 0.05 || activation == Activation::relu));  // else nothing was rounded
      CHECK(worst_slope <= 4 * kUnit);
    }
  });
}

TEST_CASE("smooth activations end at zero on the left and at the identity on the right") {
  for_both_types([]<class T>(T) {
    const std::vector<T> x{T{-900}, T(-1e30), std::numeric_limits<T>::lowest(),
                           T{900},  T(1e30),  std::numeric_limits<T>::max()};
    for (const Activation activation : kSmooth) {
      INFO(name_of(activation));
      const std::vector<T> y = apply(activation, x);
      const std::vector<T> slope = slopes(activation, x, T{2});
      for (std::size_t i = 0; i < x.size(); ++i) {
        CHECK(y[i] == (x[i] < 0 ? T{0} : x[i]));
        CHECK(slope[i] == (x[i] < 0 ? T{0} : T{2}));
      }
    }
  });
}

TEST_CASE("NaN stays NaN through every activation") {
  for_both_types([]<class T>(T) {
    const std::vector<T> nothing{std::numeric_limits<T>::quiet_NaN()};
    for (const Activation activation : kAll) {
      INFO(name_of(activation));
      CHECK(std::isnan(apply(activation, nothing)[0]));
    }
    for (const Activation activation : kSmooth) {
      INFO(name_of(activation));
      CHECK(std::isnan(slopes(activation, nothing, T{1})[0]));
    }
  });
}

TEST_CASE("value and gradient at once, gated and not, are those of the single loops") {
  for_both_types([]<class T>(T) {
    const std::vector<T> gate = interesting<T>();
    const auto n = static_cast<Index>(gate.size());
    std::vector<T> up;
    std::vector<T> grad;
    for (Index i = 0; i < n; ++i) {
      up.push_back(T(0.25) * static_cast<T>(i % 13 - 6));
      grad.push_back(T(0.5) * static_cast<T>(i % 7 - 3));
    }
    for (const Activation activation : kAll) {
      INFO(name_of(activation));
      const auto& loops = activation_loops<T>(activation);
      std::vector<T> y(gate.size());
      std::vector<T> plain_grad = grad;
      loops.with_backward(gate.data(), plain_grad.data(), y.data(), n);
      std::vector<T> gated(gate.size());
      std::vector<T> gated_again(gate.size());
      std::vector<T> gate_grad = grad;
      std::vector<T> up_grad(gate.size());
      loops.gated(gate.data(), up.data(), gated.data(), n);
      loops.gated_with_backward(
          {gate.data(), up.data(), gate_grad.data(), up_grad.data(), gated_again.data()}, n);
      const std::vector<T> value = apply(activation, gate);
      const std::vector<T> slope = slopes(activation, gate, T{1});
      const double close = 32 * static_cast<double>(std::numeric_limits<T>::epsilon());
      const auto agree = [&](T actual, T expected) {
        return std::abs(static_cast<double>(actual - expected)) <=
               close * std::max(1.0, std::abs(static_cast<double>(expected)));
      };
      bool all = true;
      for (std::size_t i = 0; i < gate.size(); ++i) {
        all = all && agree(y[i], value[i]) && agree(plain_grad[i], grad[i] * slope[i]) &&
              agree(gated[i], value[i] * up[i]) && agree(gated_again[i], gated[i]) &&
              agree(gate_grad[i], grad[i] * up[i] * slope[i]) &&
              agree(up_grad[i], grad[i] * value[i]);
      }
      CHECK(all);
    }
  });
}
}  // namespace activation_loop_test
