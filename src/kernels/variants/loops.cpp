// Compiled once per instruction set into namespace HEADLIGHT_VARIANT. Uses only static functions
// and builtins: the linker could merge an inline function of the standard library with a copy that
// was compiled for another instruction set.
#include "kernels/loops.h"

#include "kernels/variants/tables.h"
#include "kernels/variants/vector_bytes.h"
#include "kernels/variants/vector_math.h"
#include "tensor/philox.h"

namespace headlight::kernels {
namespace {

template <class T>
void add(const T* a, const T* b, T* y, Index n) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    y[i] = a[i] + b[i];
  }
}

template <class T>
void add_scaled(T scale, const T* x, T* y, Index n) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    y[i] += scale * x[i];
  }
}

template <class T>
void scale(T factor, T* y, Index n) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    y[i] *= factor;
  }
}

template <class T>
T dot(const T* a, const T* b, Index n) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index i = 0; i < n; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

template <class T>
double sum_of_squares(const T* x, Index n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Index i = 0; i < n; ++i) {
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  return sum;
}

// Keeps 16 maxima instead of an OpenMP reduction. A reduction may start from the least finite
// number, which would be wrong if every element is -infinity.
template <class T>
T maximum(const T* x, Index n) {
  constexpr Index kLanes = 16;
  T lanes[kLanes];
  for (Index lane = 0; lane < kLanes; ++lane) {
    lanes[lane] = -static_cast<T>(__builtin_inff());
  }
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (Index lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
    }
  }
  for (; i < n; ++i) {
    lanes[i % kLanes] = x[i] > lanes[i % kLanes] ? x[i] : lanes[i % kLanes];
  }
  T best = lanes[0];
  for (Index lane = 1; lane < kLanes; ++lane) {
    best = lanes[lane] > best ? lanes[lane] : best;
  }
  return best;
}

// Keeps a sum for each lane of a vector: zeros at the end must not change the order in which the
// others are added, which an OpenMP reduction leaves to the compiler.
template <class T>
T exp_shifted(T* x, T shift, Index n) {
  constexpr Index kLanes = kVectorBytes / static_cast<int>(sizeof(T));
  T sums[kLanes] = {};
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (Index lane = 0; lane < kLanes; ++lane) {
      const T value = softmax_exp(x[i + lane] - shift);
      x[i + lane] = value;
      sums[lane] += value;
    }
  }
  for (; i < n; ++i) {
    x[i] = softmax_exp(x[i] - shift);
    sums[0] += x[i];
  }
  T sum = 0;
  for (const T lane : sums) {
    sum += lane;
  }
  return sum;
}

// Compilers do not vectorise std::tanh.
template <class T, T (*kFunction)(T), bool kVectors = true>
void map_all(const T* x, T* y, Index n) {
#pragma omp simd if (kVectors)
  for (Index i = 0; i < n; ++i) {
    y[i] = kFunction(x[i]);
  }
}

template <class T, bool kVectors = sizeof(T) == sizeof(float)>
void soft_cap(T cap, T* x, T* slope, Index n) {
  if (slope == nullptr) {
#pragma omp simd if (kVectors)
    for (Index i = 0; i < n; ++i) {
      x[i] = cap * fast_tanh(x[i] / cap);
    }
    return;
  }
#pragma omp simd if (kVectors)
  for (Index i = 0; i < n; ++i) {
    const T share = fast_tanh(x[i] / cap);
    x[i] = cap * share;
    slope[i] = T{1} - share * share;
  }
}

template <class T>
void multiply(const T* x, T* y, Index n) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    y[i] *= x[i];
  }
}

template <class T>
void softmax_backward(const T* probability, T* s, T delta, T factor, Index n) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    s[i] = probability[i] * (s[i] - delta) * factor;
  }
}

template <class T>
void rotate_halves(const T* a, const T* b, const Rotation<T>& by, T* y_a, T* y_b, Index n) {
  const T* cosine = by.cosine;
  const T* sine = by.sine;
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    const T left = a[i];
    const T right = b[i];
    y_a[i] = left * cosine[i] - right * sine[i];
    y_b[i] = right * cosine[i] + left * sine[i];
  }
}

template <class T>
void rotate_pairs(const T* x, const Rotation<T>& by, T* y, Index n) {
  const T* cosine = by.cosine;
  const T* sine = by.sine;
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    const T left = x[2 * i];
    const T right = x[2 * i + 1];
    y[2 * i] = left * cosine[i] - right * sine[i];
    y[2 * i + 1] = right * cosine[i] + left * sine[i];
  }
}

// Layer norm with the population variance (Ba, Kiros and Hinton, arXiv 1607.06450), or RMS norm
// (Zhang and Sennrich, arXiv 1910.07467), which omits the mean.
template <class T, bool kCentred>
struct Norm {
  static void value(const T* x, const T* gain, const T* shift, T* y, Index n, T epsilon, T* mean,
                    T* inverse_deviation) {
    T sum = 0;
    if constexpr (kCentred) {
#pragma omp simd reduction(+ : sum)
      for (Index i = 0; i < n; ++i) {
        sum += x[i];
      }
    }
    const T average = kCentred ? sum / static_cast<T>(n) : T{0};
    T squares = 0;
#pragma omp simd reduction(+ : squares)
    for (Index i = 0; i < n; ++i) {
      squares += (x[i] - average) * (x[i] - average);
    }
    const T root = static_cast<T>(std::sqrt(squares / static_cast<T>(n) + epsilon));
    // Infinite squares give NaN: 1 / root alone would be 0 and hide them.
    const T scale_factor = T{1} / root + (root - root);
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
      y[i] = (x[i] - average) * scale_factor * gain[i] + shift[i];
    }
    *mean = average;
    *inverse_deviation = scale_factor;
  }

  static void backward(const NormRowGradient<T>& row, Index n) {
    const T* x = row.x;
    const T* gain = row.gain;
    const T* y_grad = row.y_grad;
    const T mean = row.mean;
    const T factor = row.inverse_deviation;
    T sum = 0;
    T weighted = 0;
#pragma omp simd reduction(+ : sum, weighted)
    for (Index i = 0; i < n; ++i) {
      const T g = y_grad[i] * gain[i];
      sum += g;
      weighted += g * (x[i] - mean) * factor;
    }
    sum = kCentred ? sum / static_cast<T>(n) : T{0};
    weighted /= static_cast<T>(n);
    T* x_grad = row.x_grad;
    T* gain_grad = row.gain_grad;
    T* shift_grad = row.shift_grad;
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
      const T normalized = (x[i] - mean) * factor;
      x_grad[i] = (y_grad[i] * gain[i] - sum - normalized * weighted) * factor;
      gain_grad[i] += y_grad[i] * normalized;
      shift_grad[i] += y_grad[i];
    }
  }

  static constexpr NormLoops<T> kLoops{value, backward};
};

template <class T>
void to_bfloat16(const T* x, std::uint16_t* y, Index n) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    const auto bits = __builtin_bit_cast(std::uint32_t, static_cast<float>(x[i]));
    const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
    const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U;
    y[i] = static_cast<std::uint16_t>(is_nan ? bits >> 16U | 0x40U : rounded);
  }
}

template <class T>
void from_bfloat16(const std::uint16_t* x, T* y, Index n) {
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    y[i] = static_cast<T>(__builtin_bit_cast(float, std::uint32_t{x[i]} << 16U));
  }
}

template <class T>
void dropout(const T* x, T* y, const DropoutRow& row, Index n) {
  const T kept_scale = T{1} / (T{1} - static_cast<T>(row.probability));
  const auto threshold = static_cast<float>(row.probability);  // random numbers have 24 bits
  for (Index start = 0; start < n; start += 4) {
    const std::uint64_t block = (row.position + static_cast<std::uint64_t>(start)) / 4;
    const PhiloxWords words = philox(row.seed, row.stream, block);
    const Index end = start + 4 < n ? start + 4 : n;
    for (Index i = start; i < end; ++i) {
      const float uniform = static_cast<float>(words.w[i - start] >> 8) * 0x1.0p-24F;
      y[i] = uniform >= threshold ? x[i] * kept_scale : T{0};
    }
  }
}

// AdamW: Loshchilov and Hutter, arXiv 1711.05101, Algorithm 2, with PyTorch's order of operations.
template <class T>
void adamw(const AdamWArrays<T>& arrays, const AdamWStep& step, Index n) {
  T* parameter = arrays.parameter;
  const T* gradient = arrays.gradient;
  T* mean = arrays.mean;
  T* variance = arrays.variance;
  const T gradient_scale = static_cast<T>(step.gradient_scale);
  const T decay = static_cast<T>(1.0 - step.learning_rate * step.weight_decay);
  const T beta1 = static_cast<T>(step.beta1);
  const T beta2 = static_cast<T>(step.beta2);
  const T rest1 = static_cast<T>(1.0 - step.beta1);
  const T rest2 = static_cast<T>(1.0 - step.beta2);
  const T step_size = static_cast<T>(step.learning_rate / step.bias_correction1);
  const T root_scale = static_cast<T>(1.0 / std::sqrt(step.bias_correction2));
  const T epsilon = static_cast<T>(step.epsilon);
#pragma omp simd
  for (Index i = 0; i < n; ++i) {
    const T g = gradient[i] * gradient_scale;
    const T m = beta1 * mean[i] + rest1 * g;
    const T v = beta2 * variance[i] + rest2 * g * g;
    mean[i] = m;
    variance[i] = v;
    const T root = static_cast<T>(std::sqrt(v)) * root_scale + epsilon;
    parameter[i] = parameter[i] * decay - step_size * m / root;
  }
}

template <class T>
constexpr Loops<T> table() {
  return {.add = add<T>,
          .add_scaled = add_scaled<T>,
          .scale = scale<T>,
          .dot = dot<T>,
          .sum_of_squares = sum_of_squares<T>,
          .maximum = maximum<T>,
          .exp_shifted = exp_shifted<T>,
          .exp = map_all<T, fast_exp>,
          .tanh = map_all<T, fast_tanh, sizeof(T) == sizeof(float)>,
          .log = map_all<T, fast_log>,
          .soft_cap = soft_cap<T>,
          .multiply = multiply<T>,
          .softmax_backward = softmax_backward<T>,
          .rotate_halves = rotate_halves<T>,
          .rotate_pairs = rotate_pairs<T>,
          .layer_norm = Norm<T, true>::kLoops,
          .rms_norm = Norm<T, false>::kLoops,
          .to_bfloat16 = to_bfloat16<T>,
          .from_bfloat16 = from_bfloat16<T>,
          .dropout = dropout<T>,
          .adamw = adamw<T>};
}

}  // namespace

namespace HEADLIGHT_VARIANT {

const Loops<float> kFloatLoops = table<float>();
#if defined(HEADLIGHT_DOUBLE_LOOPS)
const Loops<double> kDoubleLoops = table<double>();
#endif

}  // namespace HEADLIGHT_VARIANT
}  // namespace headlight::kernels
