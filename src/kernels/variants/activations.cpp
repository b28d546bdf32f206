// Compiled once per instruction set into namespace HEADLIGHT_VARIANT; see loops.cpp.
#include "kernels/layers/activations.h"

#include <numbers>
#include <type_traits>

#include "kernels/variants/tables.h"
#include "kernels/variants/vector_math.h"

namespace headlight::kernels {
namespace {

// Value and slope at one point. Each activation has the functions value(x) and point(x).
template <class T>
struct ActivationPoint {
  T value;
  T slope;
};

// The tanh form: x * (1 + tanh(u)) / 2 = x * sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3)
// (Hendrycks and Gimpel, arXiv 1606.08415).
struct GeluTanh {
  // Returns 2 u, given x and x^2. Its rounding error dominates the result's. For negative x, where
  // the result approaches 0, the relative error grows to about 3 |u| units in the last place. The
  // absolute error stays far below that of x.
  template <class T>
  static T argument(T x, T square) {
    constexpr T kLinear = T(1.5957691216057307117597842397375);
    constexpr T kCubic = T(1.5957691216057307117597842397375 * 0.044715);
    return x * (kCubic * square + kLinear);
  }

  template <class T>
  static T value(T x) {
    return x / (T{1} + fast_exp(-argument(x, x * x)));
  }

  // The derivative is s + x s (1 - s) 2 u', with s = sigmoid(2 u). Computed from exp(-|2 u|), so
  // that neither factor is a difference and nothing overflows. The sum crosses zero near x = -0.75,
  // where its error is small relative to 1, but not to the sum.
  template <class T>
  static ActivationPoint<T> point(T x) {
    constexpr T kLinear = T(1.5957691216057307117597842397375);
    constexpr T kCubic = T(3 * 1.5957691216057307117597842397375 * 0.044715);
    T square = x * x;
    square = square > T(1024) ? T(1024) : square;  // avoids 0 * infinity
    const T e = fast_exp(-magnitude(argument(x, square)));
    const T larger = T{1} / (T{1} + e);
    const T smaller = e * larger;
    const T s = x < T{0} ? smaller : larger;
    return {x * s, s + x * smaller * larger * (kCubic * square + kLinear)};
  }
};

// The exact form, x Phi(x), with slope Phi(x) + x phi(x).
struct GeluErf {
  template <class T>
  static T distribution(T x) {
    return T(0.5) * (1 + static_cast<T>(std::erf(x / std::numbers::sqrt2_v<T>)));
  }

  template <class T>
  static T density(T x) {
    return static_cast<T>(std::exp(T(-0.5) * x * x)) * std::numbers::inv_sqrtpi_v<T> /
           std::numbers::sqrt2_v<T>;
  }

  template <class T>
  static T value(T x) {
    return x * distribution(x);
  }

  template <class T>
  static ActivationPoint<T> point(T x) {
    const T phi = distribution(x);
    return {x * phi, phi + x * density(x)};
  }
};

// NaN stays NaN, because comparisons with NaN are false.
struct Relu {
  template <class T>
  static T value(T x) {
    return x < T{0} ? T{0} : x;
  }
  template <class T>
  static ActivationPoint<T> point(T x) {
    return {value(x), x > T{0} ? T{1} : T{0}};
  }
};

// So et al., arXiv 2109.08668.
struct SquaredRelu {
  template <class T>
  static T value(T x) {
    return Relu::value(x) * Relu::value(x);
  }
  template <class T>
  static ActivationPoint<T> point(T x) {
    return {value(x), T{2} * Relu::value(x)};
  }
};

// x s with s = sigmoid(x); slope s + x s (1 - s), computed from exp(-|x|) as in GeluTanh.
struct Silu {
  template <class T>
  static T value(T x) {
    return x / (T{1} + fast_exp(-x));
  }
  template <class T>
  static ActivationPoint<T> point(T x) {
    const T e = fast_exp(-magnitude(x));
    const T larger = T{1} / (T{1} + e);
    const T smaller = e * larger;
    const T s = x < T{0} ? smaller : larger;
    return {x * s, s + x * (smaller * larger)};
  }
};

// Loops of an activation with the functions value(x) and point(x).
template <class T, class Function>
struct ActivationOf {
  // Compilers do not vectorise the C library's functions.
  static constexpr bool kVectors = sizeof(T) == sizeof(float) && !std::is_same_v<Function, GeluErf>;

  static void value(const T* x, T* y, Index n) {
#pragma omp simd if (kVectors)
    for (Index i = 0; i < n; ++i) {
      y[i] = Function::value(x[i]);
    }
  }

  static void backward(const T* x, const T* y_grad, T* x_grad, Index n) {
#pragma omp simd if (kVectors)
    for (Index i = 0; i < n; ++i) {
      x_grad[i] = y_grad[i] * Function::point(x[i]).slope;
    }
  }

  static void with_backward(const T* x, T* grad, T* y, Index n) {
#pragma omp simd if (kVectors)
    for (Index i = 0; i < n; ++i) {
      const ActivationPoint<T> point = Function::point(x[i]);
      grad[i] *= point.slope;
      y[i] = point.value;
    }
  }

  static void gated(const T* gate, const T* up, T* y, Index n) {
#pragma omp simd if (kVectors)
    for (Index i = 0; i < n; ++i) {
      y[i] = Function::value(gate[i]) * up[i];
    }
  }

  static void gated_with_backward(const GateGradient<T>& of, Index n) {
    const T* gate = of.gate;
    const T* up = of.up;
    T* gate_grad = of.gate_grad;
    T* up_grad = of.up_grad;
    T* y = of.y;
#pragma omp simd if (kVectors)
    for (Index i = 0; i < n; ++i) {
      const ActivationPoint<T> point = Function::point(gate[i]);
      const T grad = gate_grad[i];
      const T factor = up[i];
      gate_grad[i] = grad * factor * point.slope;
      up_grad[i] = grad * point.value;
      y[i] = point.value * factor;
    }
  }

  static constexpr ActivationLoops<T> kLoops{value, backward, with_backward, gated,
                                             gated_with_backward};
};

template <class T>
constexpr Activations<T> table() {
  return {{ActivationOf<T, GeluTanh>::kLoops, ActivationOf<T, GeluErf>::kLoops,
           ActivationOf<T, Relu>::kLoops, ActivationOf<T, SquaredRelu>::kLoops,
           ActivationOf<T, Silu>::kLoops}};
}

}  // namespace

namespace HEADLIGHT_VARIANT {

const Activations<float> kFloatActivations = table<float>();
#if defined(HEADLIGHT_DOUBLE_LOOPS)
const Activations<double> kDoubleActivations = table<double>();
#endif

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
